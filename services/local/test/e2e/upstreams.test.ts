/** Sessions with the tools of other people's MCP servers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';

const { resolve } = createRequire(import.meta.url);
const memory = resolve('@modelcontextprotocol/server-memory/package.json').replace(
  'package.json',
  'dist/index.js',
);

async function openWithMemory(): Promise<TestFleet> {
  const folder = await mkdtemp(join(tmpdir(), 'upstreams-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'mcp.json');
  const env = { MEMORY_FILE_PATH: join(folder, 'memory.json') };
  const text = JSON.stringify({ mcpServers: { memory: { command: process.execPath, args: [memory], env } } });
  await writeFile(file, text, { mode: 0o600 });
  const fleet = await openFleet({ env: { HARNESS_UPSTREAMS_FILE: file } });
  const state = async () =>
    (await fleet.get<{ upstreams: { state: string }[] }>('/v1/upstreams')).upstreams[0]?.state;
  await expect.poll(state).toBe('ready');
  return fleet;
}

test('a session calls the tools of an upstream, also one that may use nothing else', async () => {
  const fleet = await openWithMemory();
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
  const all = await fleet.thread();
  const call = `call: memory__create_entities ${JSON.stringify({ entities })}`;
  expect(await fleet.ask(all, call)).toMatchObject({ status: 'success' });
  const only = await fleet.thread({ allowedTools: ['memory__read_graph'] });
  expect(await fleet.ask(only, 'call: memory__read_graph {}')).toMatchObject({ status: 'success' });
  const events = await fleet.watch(`/v1/threads/${only}/events`, ({ type }) => type === 'stream.replayed');
  const results = events.filter(({ type }) => type === 'agent.tool_result');
  expect(results.map(({ data }) => [data.isError, JSON.stringify(data).includes('Ada')])).toEqual([
    [false, true],
  ]);
});
