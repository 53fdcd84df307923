/** Completion of commands, skills and agents with Tab. */
import { fileCommands } from '../file-commands.ts';
import type { GatewayClient } from '../gateway-client.ts';

/** The result that node:readline requires: the words that match, and the part of the line that they replace. */
export type Completion = [fits: string[], part: string];

/** Time limit of a request, because Tab must respond fast, ms. */
const timeoutMs = 2_000;

/**
 * Completes the names of commands; after `/use` those of skills, after `/agent` those of agents. Asks the gateway each
 * time, because all of them can change.
 */
export function createCompleter(client: GatewayClient): (line: string) => Promise<Completion> {
  const namesAt = async (path: string, field: 'commands' | 'skills' | 'agents'): Promise<string[]> => {
    const answer = await client.call<Record<string, { name: string }[]>>('GET', path, { timeoutMs });
    return (answer[field] ?? []).map(({ name }) => name);
  };
  const commands = async () => [
    ...(await namesAt('/v1/commands', 'commands')),
    ...fileCommands.map(({ name }) => name),
  ];
  const arguments_: Record<string, () => Promise<string[]>> = {
    use: () => namesAt('/v1/skills', 'skills'),
    agent: () => namesAt('/v1/agents', 'agents'),
    help: commands,
  };
  return async (line) => {
    const found = /^\/([a-z0-9-]*)(?:\s+(\S*))?$/.exec(line);
    if (!found) return [[], line];
    const [, name = '', argument] = found;
    const names =
      argument === undefined ? commands : Object.hasOwn(arguments_, name) ? arguments_[name] : undefined;
    if (!names) return [[], line];
    // Without a gateway there are no completions; sending the line reports the problem.
    const all = await names().catch(() => []);
    const part = argument ?? name;
    const fits = all.filter((one) => one.startsWith(part)).sort();
    const lead = argument === undefined ? '/' : '';
    return [fits.map((one) => `${lead}${one}${fits.length === 1 ? ' ' : ''}`), `${lead}${part}`];
  };
}
