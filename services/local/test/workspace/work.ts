import { existsSync } from 'node:fs';
import type { Run } from '@harness/contracts';
import type { TestFleet } from '../open-fleet.ts';

/** Whether this machine has the sandbox that workspaces need; the set-up of the tests installs it where it can. */
export const hasSandbox = process.platform === 'linux' && existsSync('/usr/bin/bwrap');
if (!hasSandbox) console.log('SKIPPED: bubblewrap is not installed, so that no test with a workspace runs.');

/** A line of a script that uses a built-in tool. */
export const use = (tool: string, input: object) => `use: ${tool} ${JSON.stringify(input)}`;

/** A line of a script that runs a command. */
export const bash = (command: string, more: object = {}) => use('Bash', { command, ...more });

/** A run, and the results of its tools in order. */
export interface Worked {
  run: Run;
  results: { isError: boolean; text: string }[];
}

/** Runs a script on a thread. */
export async function work(fleet: TestFleet, threadId: string, ...lines: string[]): Promise<Worked> {
  const run = await fleet.ask(threadId, lines.join('\n'));
  const events = await fleet.watch(
    `/v1/threads/${threadId}/events`,
    ({ type }) => type === 'stream.replayed',
  );
  const results = events.flatMap(({ type, data }) =>
    type === 'agent.tool_result' && data.runId === run.runId
      ? [{ isError: data.isError === true, text: String(data.text) }]
      : [],
  );
  return { run, results };
}

/** The text of the one tool result of a command. */
export async function resultOf(fleet: TestFleet, threadId: string, command: string): Promise<string> {
  const { run, results } = await work(fleet, threadId, bash(command), 'say: done');
  const [result] = results;
  if (!result) throw new Error(`no result: ${run.status} ${JSON.stringify(run.error)}`);
  return result.text;
}
