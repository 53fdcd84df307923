/** Sessions with many tools: the Agent SDK loads them when they are needed. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet } from '../open-fleet.ts';

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

test('with 200 tools a session finds and loads the one that it needs; core tools are there at once', async () => {
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
