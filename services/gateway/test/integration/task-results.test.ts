/** How a caller that is no session gets the result of the work that it has delegated. */
import { scriptAt } from '@harness/dispatch';
import { expect, test } from 'vitest';
import { bearer, connectTestRedis, keyFor, openFakeWorker, openGateway } from '../fixture.ts';
import { beginSession, modernCaller } from '../mcp-wire.ts';

async function openDelegated() {
  const gateway = await openGateway();
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const client = modernCaller();
  const call = async (name: string, args: object = {}) =>
    (await (await client.call(gateway.url, `delegation__${name}`, { args })).rest()).at(-1)?.result;
  const { structuredContent } = await call('delegate', { prompt: 'count' });
  const { taskId, threadId } = structuredContent as { taskId: string; threadId: string };
  const end = () => {
    const set = { status: 'completed', verdict: 'satisfied', result: 'three' };
    return worker.finish(threadId, { status: 'success', result: 'r', task: { taskId, iteration: 1, set } });
  };
  return { ...gateway, gateway, client, tool: call, taskId, threadId, delegated: structuredContent, end };
}

test('delegate reports that the caller is not notified, and what to do; it makes no thread for notifications', async () => {
  const { delegated, taskId, dispatch } = await openDelegated();
  expect(delegated).toMatchObject({
    message: expect.stringContaining(
      `You will not be notified: call delegation__wait_task {"taskId": "${taskId}"}`,
    ),
    resource: `harness://tasks/${taskId}`,
  });
  expect((await dispatch.tasks.get('default', taskId)).parentThreadId).toBeNull();
  expect((await dispatch.threads.list('default', { limit: 10, offset: 0 })).threads).toHaveLength(1);
});

test('wait_task returns at once when the task has ended, else when it ends, with check-ins as progress', async () => {
  const { tool, taskId, gateway, client, dispatch, end } = await openDelegated();
  expect(await tool('get_task', { taskId })).toMatchObject({
    isError: false,
    structuredContent: { taskId, status: 'working', message: 'The task is not done yet (working).' },
  });
  expect(await tool('wait_task', { taskId, timeoutMs: 0 })).toMatchObject({
    structuredContent: { status: 'working' },
  });
  // As a worker records a check-in.
  const note = { taskId, noteId: 'one', type: 'task.checkin', fields: { message: 'half' } };
  await dispatch.scripts.call(scriptAt('worker/note'), note);
  const waiting = await client.call(gateway.url, 'delegation__wait_task', {
    args: { taskId },
    _meta: { progressToken: 'p' },
  });
  expect(await waiting.message()).toMatchObject({
    method: 'notifications/progress',
    params: { progressToken: 'p', progress: 1, message: 'half' },
  });
  await end();
  expect((await waiting.rest()).at(-1)?.result).toMatchObject({
    isError: false,
    content: [{ text: 'three' }],
    structuredContent: { status: 'completed', result: 'three' },
  });
  expect((await tool('wait_task', { taskId })).content).toEqual([{ type: 'text', text: 'three' }]);
  expect(await tool('get_task', { taskId: 'task_none' })).toMatchObject({ isError: true });
});

test('a task is a resource; subscribers of both eras are notified of its changes', async () => {
  const { taskId, gateway, client, end, dispatch } = await openDelegated();
  const uri = `harness://tasks/${taskId}`;
  const modern = await client.request(gateway.url, 'subscriptions/listen', {
    params: { notifications: { resourceSubscriptions: [uri] } },
    id: 9,
  });
  expect((await modern.message()).method).toBe('notifications/subscriptions/acknowledged');
  const session = await beginSession(gateway.url);
  const legacy = await session.listen(gateway.url);
  await (await session.request(gateway.url, 'resources/subscribe', { params: { uri } })).message();
  await expect
    .poll(() => dispatch.scripts && connectTestRedis().exists(dispatch.keys.of('twatch', taskId)))
    .toBe(1);
  await end();
  for (const stream of [modern, legacy])
    expect(await stream.message()).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri },
    });
  const read = await (await session.request(gateway.url, 'resources/read', { params: { uri } })).message();
  expect(JSON.parse(read.result.contents[0].text)).toMatchObject({
    taskId,
    status: 'completed',
    result: 'three',
  });
});

test('a task of another tenant is unknown, as tool and as resource', async () => {
  const gateway = await openGateway({
    keys: [keyFor('key-of-acme', { tenant: 'acme' }), keyFor('key-of-other', { tenant: 'other' })],
  });
  const { task } = await gateway.dispatch.tasks.create({ tenant: 'acme', prompt: 'x' });
  const other = modernCaller({ headers: bearer('key-of-other') });
  const args = { taskId: task.taskId };
  const got = await (await other.call(gateway.url, 'delegation__get_task', { args })).message();
  expect(got.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining(`There is no task ${task.taskId}.`) }],
  });
  const params = { uri: `harness://tasks/${task.taskId}` };
  const read = await (await other.request(gateway.url, 'resources/read', { params })).message();
  expect(read.error.message).toContain(`There is no task ${task.taskId}.`);
});
