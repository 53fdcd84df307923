/** Threads with ids chosen by callers: a name belongs to its tenant, and is returned wherever the thread is. */
import { definePlugin } from '@harness/plugin-kit';
import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import { bearer, connectTestRedis, keyFor, openFakeWorker, openGateway } from '../fixture.ts';
import { readEvents } from '../read-events.ts';

const keys = ['acme', 'umbrella'].map((tenant) => keyFor(`key-of-${tenant}`, { tenant }));
const whoami = definePlugin({
  name: 'whoami',
  version: '1.0.0',
  register: () => undefined,
  tools: [
    {
      name: 'thread',
      description: 'Tells which thread asks.',
      schema: {},
      handler: async (ctx, _input, { threadId }) =>
        `${threadId} ${(await ctx.threads.get(threadId))?.threadId}`,
    },
  ],
});

async function openHouse() {
  const gateway = await openGateway({ keys, plugins: [...builtInPlugins, whoami] });
  const as = (tenant: string) => (method: string, path: string, body?: unknown) =>
    gateway.call(method, path, { body, headers: bearer(`key-of-${tenant}`) });
  return { gateway, acme: as('acme'), umbrella: as('umbrella') };
}

const names = [
  'user-42',
  'clh3kqz9x0000356s1zj0k7vq',
  '0190f3a6-7c3e-7b7a-9a55-2f0c9f1f7a11',
  'a',
  '_',
  'Tenant:42.chat_7',
  '...',
  'thr_1',
  `thr_${'0'.repeat(31)}1`,
  'x'.repeat(128),
];

test.each(names)(
  'a thread named %s is created, used, read, changed and deleted by its name',
  async (threadId) => {
    const { gateway, acme } = await openHouse();
    const path = `/v1/threads/${threadId}`;
    expect(await acme('GET', path)).toMatchObject({
      status: 404,
      body: { error: { code: 'thread_not_found' } },
    });
    expect(await acme('POST', '/v1/threads', { threadId })).toMatchObject({
      status: 201,
      body: { threadId },
    });
    expect((await acme('POST', '/v1/threads', { threadId })).status).toBe(409);
    const again = await acme('POST', '/v1/threads', { threadId, ifExists: 'doNothing' });
    expect(again).toMatchObject({ status: 200, body: { threadId } });
    expect((await acme('GET', path)).body).toMatchObject({ threadId, state: 'idle' });
    expect((await acme('PATCH', path, { model: 'small' })).body).toMatchObject({ threadId, model: 'small' });
    expect((await acme('GET', '/v1/threads')).body.threads).toMatchObject([{ threadId }]);

    const sent = await acme('POST', `${path}/runs`, { input: 'hello' });
    const { runId } = sent.body;
    expect(sent).toMatchObject({
      status: 202,
      body: { threadId, streamUrl: `${path}/runs/${runId}/stream` },
    });
    expect(sent.headers.get('content-location')).toBe(`${path}/runs/${runId}`);
    expect((await acme('GET', `${path}/runs`)).body.runs).toMatchObject([{ threadId, runId }]);
    const busy = await acme('POST', `${path}/runs`, { input: 'x', multitaskStrategy: 'reject' });
    expect(busy.body.error.details.streamUrl).toBe(`${path}/runs/${runId}/stream`);
    const { task } = await gateway.dispatch.tasks.create({
      tenant: 'acme',
      prompt: 'x',
      parentThreadId: threadId,
    });
    expect((await acme('GET', `/v1/tasks/${task.taskId}`)).body).toMatchObject({ parentThreadId: threadId });
    expect((await acme('GET', `/v1/threads/${task.threadId}`)).body).toMatchObject({
      parentThreadId: threadId,
    });
    expect((await acme('POST', `${path}/commands`, { command: '/tasks' })).body.output).toContain(
      task.taskId,
    );
    expect((await acme('POST', '/v1/tools/whoami__thread', { threadId })).body.content[0].text).toBe(
      `${threadId} ${threadId}`,
    );
    expect((await acme('POST', `${path}/prewarm`)).body).toMatchObject({ threadId });
    expect((await acme('GET', `${path}/session`)).body).toMatchObject({ threadId, state: 'cold' });

    const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
    const { ownId } = await gateway.dispatch.threads.locate('acme', threadId);
    await worker.finish(ownId, { status: 'success', result: 'hi' });
    expect((await acme('GET', `${path}/runs/${runId}`)).body).toMatchObject({ threadId, status: 'success' });
    for (const url of [`${path}/events?children=true`, `${path}/runs/${runId}/stream`]) {
      const events = await readEvents(gateway.url + url, {
        headers: bearer('key-of-acme'),
        until: () => false,
      });
      expect(events.map(({ type }) => type)).toContain('run.completed');
      const threads = new Set(events.map(({ data }) => data.threadId));
      expect([...threads]).toEqual(url.includes('children') ? [threadId, task.threadId] : [threadId]);
      for (const { type, data } of events)
        if (type === 'thread.created' && data.threadId !== threadId)
          expect(data.parentThreadId).toBe(threadId);
    }
    expect((await acme('POST', `${path}/commands`, { command: '/cancel' })).body.isError).toBe(false);
    expect((await acme('POST', `${path}/runs/${runId}/cancel`)).body).toMatchObject({ status: 'success' });
    expect((await acme('DELETE', path)).status).toBe(204);
    expect((await acme('GET', path)).status).toBe(404);
    expect((await acme('POST', '/v1/threads', { threadId })).status).toBe(201);
  },
);

test('the same id in two tenants is two threads, and neither sees the other’s', async () => {
  const { gateway, acme, umbrella } = await openHouse();
  const made = (await acme('POST', '/v1/threads', {})).body.threadId;
  for (const threadId of ['user-42', `thr_${'a'.repeat(32)}`, made]) {
    const path = `/v1/threads/${threadId}`;
    await acme('POST', '/v1/threads', { threadId, ifExists: 'doNothing', metadata: { of: 'acme' } });
    expect((await umbrella('GET', path)).status).toBe(404);
    expect((await umbrella('POST', `${path}/runs`, { input: 'x' })).status).toBe(404);
    const own = await umbrella('POST', '/v1/threads', { threadId, metadata: { of: 'umbrella' } });
    expect(own).toMatchObject({ status: 201, body: { threadId } });
    await umbrella('POST', `${path}/runs`, { input: 'x' });
    expect((await acme('GET', `${path}/runs`)).body.runs).toEqual([]);
    expect((await umbrella('DELETE', path)).status).toBe(204);
    expect((await acme('GET', path)).body).toMatchObject({ threadId });
  }
  // The derivation of ids is no secret: the id derived from another tenant's name gives no access.
  const { ownId } = await gateway.dispatch.threads.locate('acme', 'user-42');
  expect((await umbrella('GET', `/v1/threads/${ownId}`)).status).toBe(404);
  expect((await umbrella('POST', '/v1/threads', { threadId: ownId })).status).toBe(201);
  expect((await acme('GET', '/v1/threads/user-42')).body).toMatchObject({ metadata: { of: 'acme' } });
});

test('the old prewarm creates a thread that does not exist', async () => {
  const { acme } = await openHouse();
  const body = { threadId: 'user-42' };
  for (const _again of [1, 2])
    expect(await acme('POST', '/api/prewarm', body)).toMatchObject({
      status: 202,
      body: { threadId: 'user-42' },
    });
  expect((await acme('GET', '/v1/threads/user-42')).body).toMatchObject({ threadId: 'user-42' });
  expect((await acme('POST', '/v1/threads/other/prewarm')).status).toBe(404);
});

test('a name works everywhere for a key of its tenant: in an idempotent request, over MCP, as a parent', async () => {
  const { gateway, acme } = await openHouse();
  await acme('POST', '/v1/threads', { threadId: 'user-42' });
  const { call, url } = gateway;
  const send = () =>
    call('POST', '/v1/threads/user-42/runs', {
      body: { input: 'x' },
      headers: { ...bearer('key-of-acme'), 'idempotency-key': 'k' },
    });
  const [one, other] = [await send(), await send()];
  expect(other.body.runId).toBe(one.body.runId);
  const task = await acme('POST', '/v1/tasks', { prompt: 'x', parentThreadId: 'user-42' });
  expect(task).toMatchObject({ status: 201, body: { parentThreadId: 'user-42', model: null } });
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...bearer('key-of-acme'), 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'whoami__thread', arguments: {}, _meta: { 'harness/threadId': 'user-42' } },
    }),
  });
  expect(JSON.stringify(await response.json())).toContain('user-42 user-42');
});
