import { cleanText } from '@harness/contracts';
import type { EmbeddedCommands } from '@harness/dispatch';
import { argumentsIn, skillPluginName, withArguments } from '@harness/plugins';
import type { FinishResult } from './proxies/tool-relay.ts';
import type { BuiltInCall } from './tool-rules.ts';

/** Runs a program in the sandbox of a session. */
export type RunInSandbox = (
  command: readonly string[],
  options: { env: Record<string, string>; signal: AbortSignal; mostBytes: number },
) => Promise<{ output: string; isCut: boolean; exitCode: number | undefined }>;

/** What embedded commands need. */
export interface EmbeddedDeps {
  /** Why a call of a built-in tool is refused; undefined = it is not. */
  refusalOf(call: BuiltInCall): Promise<string | undefined>;
  run: RunInSandbox;
  /** Ends the commands. */
  signal?: AbortSignal | undefined;
  /** Time for all of the commands together, ms. */
  limitMs?: number;
}

/** Time for the commands of one skill together, ms. */
const commandsLimitMs = 60_000;
/** Longest output that is kept, bytes: of all commands of one skill together, and of each. */
const most = { all: 100_000, each: 30_000 };

/** The embedded commands of a skill, for one use of it. */
export interface Embedded {
  commands: EmbeddedCommands;
  /** The arguments as typed. */
  args: string;
  /** The text whose commands run; absent: all of them. */
  text?: string;
}

/** Outputs, by the text of the command that each replaces. */
export type Outputs = ReadonlyMap<string, string>;

/**
 * Runs the embedded commands of a skill that the session's tools permit, one after another. The output of a failed command says
 * how it failed. A command that is not permitted has no output: it stays in the text.
 */
export async function outputsOf(
  { commands, args, text }: Embedded,
  { refusalOf, run, signal, limitMs = commandsLimitMs }: EmbeddedDeps,
): Promise<Outputs> {
  const late = AbortSignal.timeout(limitMs);
  const ends = signal ? [signal] : [];
  const outputs = new Map<string, string>();
  let left = most.all;
  for (const { place, script, parameters, env } of withArguments(commands, args)) {
    if (signal?.aborted) break;
    if (text !== undefined && !text.includes(place)) continue;
    if ((await refusalOf({ tool: 'Bash', input: { command: script }, isEmbedded: true })) !== undefined)
      continue;
    const options = { env, mostBytes: Math.min(most.each, left), signal: AbortSignal.any([late, ...ends]) };
    const shell = ['bash', '--norc', '--noprofile', '-c', script, ...parameters];
    const output = await describe(() => run(shell, options), { late, limitMs });
    left = Math.max(0, left - Buffer.byteLength(output));
    outputs.set(place, output);
  }
  return outputs;
}

/** Replaces commands by their outputs; commands within an output are not replaced. */
export function withOutputs(text: string, outputs: Outputs): string {
  if (outputs.size === 0) return text;
  const places = [...outputs.keys()].sort((one, other) => other.length - one.length);
  const any = new RegExp(places.map(RegExp.escape).join('|'), 'g');
  return text.replace(any, (place) => outputs.get(place) ?? place);
}

/** Runs the commands in results of tools that are skills. Commands in results of other tools never run. */
export const finishSkills =
  ({
    commandsOf,
    ...deps
  }: EmbeddedDeps & { commandsOf(skill: string): Promise<EmbeddedCommands | undefined> }): FinishResult =>
  async (called, result) => {
    const { name, input } = innerOf(called);
    const { content } = result;
    if (!name.startsWith(toolPrefix) || result.isError === true || !Array.isArray(content)) return result;
    const commands = await commandsOf(name.slice(toolPrefix.length));
    if (!commands) return result;
    const text = content.map(textIn).join('\n');
    const outputs = await outputsOf({ commands, args: argumentsIn(input), text }, deps);
    const filled = content.map((block) =>
      textIn(block) === '' ? block : { ...block, text: withOutputs(textIn(block), outputs) },
    );
    return { ...result, content: filled };
  };

/** The tool with which a session calls tools that it found by a search. */
const outerTool = 'tools__call';

function innerOf(call: Parameters<FinishResult>[0]): Parameters<FinishResult>[0] {
  const { name, arguments: input } = call.name === outerTool ? call.input : {};
  if (typeof name !== 'string') return call;
  return { name, input: typeof input === 'object' && input !== null ? { ...input } : {} };
}

const toolPrefix = `${skillPluginName}__`;
const textIn = (block: { text?: unknown }) => (typeof block.text === 'string' ? block.text : '');

/** What a command wrote, and how it failed. */
async function describe(
  run: () => ReturnType<RunInSandbox>,
  { late, limitMs }: { late: AbortSignal; limitMs: number },
): Promise<string> {
  if (late.aborted) return `[not run: the commands before it took ${limitMs / 1000} s]`;
  try {
    const { output, isCut, exitCode } = await run();
    const text = cleanText(output).trimEnd();
    if (isCut) return `${text}\n[the command was ended: it wrote more than is kept]`;
    if (exitCode === 0) return text;
    if (exitCode !== undefined) return `${text}\n[the command failed with exit code ${exitCode}]`.trimStart();
    const reason = late.aborted
      ? `it took longer than ${limitMs / 1000} s`
      : 'its turn or its limits ended it';
    return `${text}\n[the command was ended: ${reason}]`.trimStart();
  } catch (error) {
    return `[the command did not start: ${(error as Error).message}]`;
  }
}
