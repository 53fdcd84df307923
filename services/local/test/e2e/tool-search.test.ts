/** Sessions with many tools: the Agent SDK loads them when they are needed. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';

/** A module with a plugin of this many tools. */
async function pluginWith(count: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'many-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'many.mjs');
  await writeFile(
    file,
    `export const plugin = { name: 'many', version: '1', register() {}, tools: Array.from({ length: ${count} }, (_, i) => ({
      name: 'tool' + i, description: 'Says the number ' + i + '.', schema: {}, handler: () => 'number ' + i })) };`,
  );
  return file;
}

test('with 200 tools a session finds and loads the one that it needs; core tools are loaded from the start', async () => {
  const fleet = await openFleet({ env: { HARNESS_PLUGINS: await pluginWith(200) } });
  const threadId = await fleet.thread();
  const script = [
    'call: time__current_time {}',
    'use: ToolSearch {"query": "select:mcp__harness__many__tool117", "max_results": 1}',
    'call: many__tool117 {}',
    'say: done',
  ].join('\n');
  expect(await fleet.ask(threadId, script)).toMatchObject({ status: 'success', result: 'done' });
  const events = await fleet.watch(
    `/v1/threads/${threadId}/events`,
    ({ type }) => type === 'stream.replayed',
  );
  const results = events.filter(({ type }) => type === 'agent.tool_result');
  expect(results.map(({ data }) => data.isError)).toEqual([false, false, false]);
  expect(JSON.stringify(results.at(-1))).toContain('number 117');
});

/** Tokens of the first request of a session, as scripted-model estimates them. */
async function tokensOf(fleet: TestFleet, thread: object = {}): Promise<number> {
  const run = await fleet.ask(await fleet.thread(thread), 'say: hello');
  return run.usage?.inputTokens ?? Number.NaN;
}

test.each([60, 450, 1_000])(
  'the first request of a session with %i tools has at most 5,000 tokens',
  async (count) => {
    const fleet = await openFleet({ env: { HARNESS_PLUGINS: await pluginWith(count) } });
    expect(await tokensOf(fleet)).toBeLessThan(5_000);
    // A thread that may use fewer of them may list all that are left.
    const allowedTools = ['time__*', 'many__tool1*', 'many__tool2*', 'many__tool3*'];
    expect(await tokensOf(fleet, { allowedTools })).toBeLessThan(5_000);
  },
);
