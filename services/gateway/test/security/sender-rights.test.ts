import { signThreadToken } from '@harness/contracts';
import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import {
  bearer,
  connectTestRedis,
  keyFor,
  openFakeWorker,
  openGateway,
  probe,
  tokenSecret,
} from '../fixture.ts';

const keys = [
  keyFor('talker', { scopes: ['threads'] }),
  keyFor('narrow', { scopes: ['threads', 'tools'], tools: ['probe__whoami', 'delegation__*'] }),
  keyFor('wide'),
];

async function openFleet() {
  const gateway = await openGateway({ keys, plugins: [...builtInPlugins, probe] });
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const call = async (key: string, request: string, body?: unknown) => {
    const [method = '', path = ''] = request.split(' ');
    return gateway.call(method, path, { body, headers: bearer(key) });
  };
  const thread = async (key: string, body = {}) =>
    (await call(key, 'POST /v1/threads', body)).body.threadId as string;
  const send = (key: string, threadId: string) =>
    call(key, `POST /v1/threads/${threadId}/runs`, { input: 'x' });
  /** Begins the thread's next turn; returns what its session sees, and how it calls a tool. */
  const begin = async (threadId: string) => {
    const turn = await worker.begin(threadId);
    const { epoch, owner } = turn.hold as { epoch: number; owner?: string };
    const tools = turn.allowedTools; // as the worker does
    const token = await signThreadToken({ threadId, tenant: 'default', epoch, owner, tools }, tokenSecret);
    const request = async (method: string, params: object) =>
      (
        await gateway.call('POST', '/mcp', {
          headers: { ...bearer(token), accept: 'application/json, text/event-stream' },
          body: { jsonrpc: '2.0', id: 1, method, params },
        })
      ).body;
    return {
      turn,
      tools: async () =>
        ((await request('tools/list', {})).result?.tools ?? []).map(({ name }: { name: string }) => name),
      call: async (name: string, input = {}) => {
        const { result, error } = await request('tools/call', { name, arguments: input });
        return error?.data?.code ?? (result.isError ? 'failed' : result);
      },
    };
  };
  return { gateway, worker, call, thread, send, begin };
}

test('the agent of a key without the scope tools calls none, also on a thread that has all', async () => {
  const { thread, send, begin } = await openFleet();
  const threadId = await thread('wide');
  await send('talker', threadId);
  const session = await begin(threadId);
  expect(await session.tools()).toEqual([]);
  for (const name of ['probe__whoami', 'delegation__delegate', 'time__current_time'])
    expect(await session.call(name, { prompt: 'x' })).toBe('forbidden');
});

test('an agent delegates only for a key that has the scope tasks', async () => {
  const { thread, send, begin } = await openFleet();
  const threadId = await thread('wide');
  await send('narrow', threadId);
  const session = await begin(threadId);
  expect(await session.tools()).not.toContain('delegation__delegate');
  expect(await session.call('delegation__delegate', { prompt: 'x' })).toBe('forbidden');
});

test('children, reviews and notifications have at most the rights of the task’s creator', async () => {
  const { gateway, worker, thread, send, begin } = await openFleet();
  const { dispatch } = gateway;
  const threadId = await thread('wide');
  const tools = ['probe__whoami', 'delegation__*'];
  const sender = { keyId: 'narrow', scopes: ['threads', 'tools', 'tasks'], tools };
  const message = { tenant: 'default', threadId, request: { input: 'x' }, idempotencyKey: 'k', sender };
  await dispatch.runs.append(message);
  const session = await begin(threadId);
  const delegated = await session.call('delegation__delegate', { prompt: 'child', maxIterations: 1 });
  const { taskId, threadId: childId } = delegated.structuredContent;
  await dispatch.lease.commit(session.turn, { status: 'success', result: 'delegated' });
  const child = await begin(childId);
  expect(await child.tools()).toEqual(['delegation__delegate', 'delegation__checkin', 'probe__whoami']);
  const task = await dispatch.tasks.cancel('default', taskId);
  expect(task.status).toBe('cancelled');
  const notified = await begin(threadId);
  expect(notified.turn.kind).toBe('notification');
  expect(await notified.tools()).not.toContain('time__current_time');
  expect(await notified.call('time__current_time')).toBe('forbidden');
  await dispatch.lease.commit(notified.turn, { status: 'success', result: 'seen' });
  await send('wide', threadId);
  expect(await (await begin(threadId)).tools()).toContain('time__current_time');
  expect(worker.workerId).toBeTruthy();
});

test('a caller that lacks a tool of a thread changes neither its prompt nor its tools, agent or skill', async () => {
  const { call, thread } = await openFleet();
  const threadId = await thread('wide');
  for (const change of [
    { systemPrompt: 'Obey me.' },
    { allowedTools: null },
    { agent: null },
    { skill: null },
  ]) {
    const { status, body } = await call('narrow', `PATCH /v1/threads/${threadId}`, change);
    expect([change, status]).toEqual([change, 403]);
    expect(body.error.message).toContain('tools that your key does not have');
  }
  expect((await call('talker', `PATCH /v1/threads/${threadId}`, { systemPrompt: 'x' })).status).toBe(403);
  const command = { command: '/agent none' };
  expect((await call('narrow', `POST /v1/threads/${threadId}/commands`, command)).body.isError).toBe(true);
  const metadata = { metadata: { note: 1 } };
  expect((await call('narrow', `PATCH /v1/threads/${threadId}`, metadata)).status).toBe(200);
  const own = await thread('narrow');
  expect((await call('narrow', `PATCH /v1/threads/${own}`, { systemPrompt: 'Mine.' })).status).toBe(200);
});

test('the rights of a revoked key end: of its waiting messages, and of the turn in progress', async () => {
  const { gateway, thread, send, begin } = await openFleet();
  const { dispatch } = gateway;
  const wide = { tenant: 'default', keyId: 'wide', fingerprint: 'a' };
  await dispatch.keyRights.note({ known: [wide], revoked: [] });
  const threadId = await thread('wide');
  await send('wide', threadId);
  await send('wide', threadId);
  const session = await begin(threadId);
  expect(await session.tools()).toContain('time__current_time');
  await dispatch.keyRights.note({ known: [], revoked: [wide] });
  expect(await session.tools()).toEqual([]);
  await dispatch.lease.commit(session.turn, { status: 'success', result: 'done' });
  const next = await begin(threadId);
  expect(await next.tools()).toEqual([]);
  expect(await next.call('time__current_time')).toBe('forbidden');
});

test('keys that were removed while no gateway ran are revoked by the first one that starts', async () => {
  const { gateway, thread, send, begin } = await openFleet();
  const { keyRights } = gateway.dispatch;
  await keyRights.note({ known: [{ tenant: 'default', keyId: 'wide', fingerprint: 'a' }], revoked: [] });
  const threadId = await thread('wide');
  await send('wide', threadId);
  await keyRights.note({
    known: [{ tenant: 'default', keyId: 'next', fingerprint: 'a' }],
    revoked: [],
    isFirst: true,
  });
  expect(await (await begin(threadId)).tools()).toEqual([]);
});

test('a new key with the id of a revoked one does not restore the rights of mail that the revoked one sent', async () => {
  const { gateway, thread, send, begin } = await openFleet();
  const { keyRights, lease } = gateway.dispatch;
  const wide = { tenant: 'default', keyId: 'wide', fingerprint: 'a' };
  await keyRights.note({ known: [wide], revoked: [] });
  const threadId = await thread('wide');
  await send('wide', threadId);
  await keyRights.note({ known: [{ ...wide, fingerprint: 'b' }], revoked: [wide] });
  const old = await begin(threadId);
  expect(await old.tools()).toEqual([]);
  await lease.commit(old.turn, { status: 'success', result: 'done' });
  await send('wide', threadId);
  expect(await (await begin(threadId)).tools()).toContain('time__current_time');
});

test('a secret that was replaced while no gateway ran ends the rights of mail that the earlier one sent', async () => {
  const { gateway, thread, send, begin } = await openFleet();
  const { keyRights } = gateway.dispatch;
  const wide = { tenant: 'default', keyId: 'wide', fingerprint: 'a' };
  await keyRights.note({ known: [wide], revoked: [] });
  const threadId = await thread('wide');
  await send('wide', threadId);
  await keyRights.note({ known: [{ ...wide, fingerprint: 'b' }], revoked: [], isFirst: true });
  expect(await (await begin(threadId)).tools()).toEqual([]);
});
