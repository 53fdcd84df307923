import { cleanText, cutText } from '@harness/contracts';
import type { CommandAnswer, CommandOutput, PluginContext, PluginDefinition } from '../contract/contract.ts';
import { withTimeLimit } from '../tools/time-limit.ts';
import type { Command } from './commands.ts';
import type { Offer } from './offer.ts';

const timeoutMs = 60_000;
/** Maximum length of an output, characters. */
const maxChars = 100_000;

/**
 * The commands of validated plugins, in plugin order. Each is bound to its plugin's context, has a time limit, and its
 * output is cleaned and cut.
 */
export const collectCommands = (
  plugins: readonly PluginDefinition[],
  { contextOf, offer }: { contextOf: (pluginName: string) => PluginContext; offer: Offer },
): Command[] =>
  plugins.flatMap((plugin) =>
    (plugin.commands ?? []).map((command) => ({
      name: command.name,
      description: command.description,
      group: 'plugin',
      isFor: (tenant) => offer.isOffered(plugin.name, tenant),
      ...(command.argumentHint === undefined ? {} : { argumentHint: command.argumentHint }),
      execute: async (args, context) => {
        const timeoutError = () => new Error(`it took longer than ${timeoutMs} ms`);
        const run = () => command.execute(args, context, contextOf(plugin.name));
        return answerOf(await withTimeLimit<CommandOutput>({ timeoutMs, timeoutError }, run));
      },
    })),
  );

/** Parses what the plugin returned. Throws if it has no output. */
function answerOf(returned: unknown): CommandAnswer {
  if (typeof returned === 'string') return { output: bounded(returned) };
  const { output, isError, action, runId } = (returned ?? {}) as Partial<CommandAnswer>;
  if (typeof output !== 'string')
    throw new Error('it returned neither a string nor an object with the string "output"');
  return {
    output: bounded(output),
    ...(isError === true && { isError }),
    ...((action === 'quit' || action === 'clear') && { action }),
    ...(typeof runId === 'string' && { runId }),
  };
}

const bounded = (text: string): string => {
  const clean = cleanText(text);
  return clean.length <= maxChars ? clean : `${cutText(clean, maxChars)}\n(cut: ${clean.length} characters)`;
};
