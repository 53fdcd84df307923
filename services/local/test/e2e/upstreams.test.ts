/** Sessions with the tools of other people's MCP servers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';

const { resolve } = createRequire(import.meta.url);
/** The command of a published server. */
const serverOf = (name: string, ...args: string[]) => {
  const folder = resolve(`@modelcontextprotocol/server-${name}/package.json`).replace('package.json', '');
  return { command: process.execPath, args: [join(folder, 'dist/index.js'), ...args] };
};

async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'upstreams-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** A fleet that is connected to one upstream. */
async function openWith(mcpServers: Record<string, object>): Promise<TestFleet> {
  const file = join(await openFolder(), 'mcp.json');
  await writeFile(file, JSON.stringify({ mcpServers }), { mode: 0o600 });
  const fleet = await openFleet({ env: { HARNESS_UPSTREAMS_FILE: file } });
  const state = async () =>
    (await fleet.get<{ upstreams: { state: string }[] }>('/v1/upstreams')).upstreams[0]?.state;
  await expect.poll(state).toBe('ready');
  return fleet;
}

test('a session calls the tools of an upstream, also one that may use nothing else', async () => {
  const env = { MEMORY_FILE_PATH: join(await openFolder(), 'memory.json') };
  const fleet = await openWith({ memory: { ...serverOf('memory'), env } });
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

test('a question of a server with a connection for each thread reaches the person, and the call continues', async () => {
  const fleet = await openWith({ everything: { ...serverOf('everything', 'stdio'), scope: 'thread' } });
  const threadId = await fleet.thread();
  const answers = `/v1/threads/${threadId}/events?follow=true&answers=true`;
  const events = await fleet.watch(answers, ({ type, data }) => {
    if (type === 'stream.replayed')
      void fleet.send(threadId, 'call: everything__trigger-elicitation-request {}');
    if (type === 'agent.question')
      void fleet.post(`/v1/threads/${threadId}/questions/${data.questionId}`, {
        action: 'accept',
        content: { name: 'Ada' },
      });
    return type === 'agent.tool_result';
  });
  const of = (wanted: string) => events.find(({ type }) => type === wanted)?.data;
  expect(of('agent.question')).toMatchObject({ message: expect.stringContaining('inputs') });
  expect(JSON.stringify(of('agent.tool_result'))).toContain('Name: Ada');
});
