/** Built-in tools in a sandbox, with the real Agent SDK. */
import { expect, test } from 'vitest';
import { shareFleet, type TestFleet } from '../../open-fleet.ts';

const openShared = shareFleet({ HARNESS_WORKSPACES: 'auto' });

/** Runs a script; returns its run and what its tools answered. */
async function work(fleet: TestFleet, threadId: string, lines: string[]) {
  const run = await fleet.ask(threadId, lines.join('\n'));
  const events = await fleet.watch(
    `/v1/threads/${threadId}/events`,
    ({ type }) => type === 'stream.replayed',
  );
  const results = events.filter(({ type, data }) => type === 'agent.tool_result' && data.runId === run.runId);
  return {
    run,
    results: results.map(({ data }) => ({
      isError: data.isError,
      text: JSON.stringify(data.content ?? data),
    })),
  };
}

const use = (tool: string, input: object) => `use: ${tool} ${JSON.stringify(input)}`;

test('an agent writes, reads, finds and runs in its workspace, and calls tools of the gateway', async () => {
  const fleet = await openShared();
  const threadId = await fleet.thread({
    allowedTools: ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'time__*'],
  });
  const { run, results } = await work(fleet, threadId, [
    use('Write', { file_path: '/workspace/notes.txt', content: 'one\ntwo\n' }),
    use('Bash', { command: 'pwd; id -u; cat notes.txt; wc -l < notes.txt' }),
    use('Grep', { pattern: 'two', output_mode: 'content' }),
    use('Glob', { pattern: '*.txt' }),
    'call: time__current_time {}',
    'say: done',
  ]);
  console.log(run, results);
  expect(run).toMatchObject({ status: 'success', result: 'done' });
  expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false, false]);
});
