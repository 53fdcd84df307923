import { expect, test } from 'vitest';
import { bearer, connectTestRedis, keyFor, openFakeWorker, openGateway } from '../fixture.ts';

async function openThread(body: object = {}) {
  const gateway = await openGateway();
  const { threadId } = (await gateway.call('POST', '/v1/threads', { body })).body;
  const path = `/v1/threads/${threadId}`;
  return {
    gateway,
    threadId,
    path,
    patch: (change: unknown) => gateway.call('PATCH', path, { body: change }),
  };
}

test('a thread is changed field by field, null clears, and its next turn sees it', async () => {
  const { gateway, threadId, path, patch } = await openThread({
    model: 'small',
    metadata: { topic: 'tests' },
    systemPrompt: 'Be brief.',
    allowedTools: ['time__current_time'],
  });
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const nextTurn = async () => {
    await gateway.call('POST', `${path}/runs`, { body: { input: 'x' } });
    const { model, systemPrompt, allowedTools } = await worker.finish(threadId);
    return { model, systemPrompt, allowedTools };
  };
  expect(await nextTurn()).toEqual({
    model: 'small',
    systemPrompt: 'Be brief.',
    allowedTools: ['time__current_time'],
  });

  const first = await patch({ model: 'large', allowedTools: [], metadata: { topic: 'more', n: 1 } });
  expect([first.status, first.body]).toEqual([
    200,
    expect.objectContaining({ threadId, model: 'large', metadata: { topic: 'more', n: 1 } }),
  ]);
  expect((await gateway.call('GET', path)).body).toEqual(first.body);
  expect(await nextTurn()).toEqual({ model: 'large', systemPrompt: 'Be brief.', allowedTools: [] });

  const second = await patch({ model: null, metadata: null, systemPrompt: null, allowedTools: null });
  expect(second.body).toMatchObject({ model: null, metadata: {} });
  expect(await nextTurn()).toEqual({ model: undefined, systemPrompt: undefined, allowedTools: undefined });
  expect((await patch({})).body).toMatchObject({ model: null, metadata: {} });
});

test('an invalid change is refused entirely', async () => {
  const { gateway, path, patch } = await openThread({ model: 'small' });
  const refused = [
    { model: '' },
    { model: 5 },
    { model: 'large', tenant: 'other' },
    { model: 'large', parentThreadId: null },
    { allowedTools: 'all' },
    { metadata: [] },
    'null',
  ];
  for (const change of refused) {
    const { status, body } = await patch(change);
    expect([change, status, body.error.code]).toEqual([change, 400, 'invalid_request']);
  }
  expect((await gateway.call('GET', path)).body).toMatchObject({ model: 'small' });
});

test('another tenant’s thread is as unknown as a missing one', async () => {
  const keys = [keyFor('key-of-a'), keyFor('key-of-b', { tenant: 'other' })];
  const gateway = await openGateway({ keys });
  const { thread } = await gateway.dispatch.threads.create('default', { model: 'small' });
  const path = `/v1/threads/${thread.threadId}`;
  const { status, body } = await gateway.call('PATCH', path, {
    body: { model: 'large' },
    headers: bearer('key-of-b'),
  });
  expect([status, body.error.code]).toEqual([404, 'thread_not_found']);
  expect(
    (await gateway.call('PATCH', path, { body: { metadata: {} }, headers: bearer('key-of-a') })).body.model,
  ).toBe('small');
});

test('a delegated thread never gets a tool that its parent lacks', async () => {
  const { gateway, threadId } = await openThread({ allowedTools: ['a__x', 'a__y'] });
  const { body: task } = await gateway.call('POST', '/v1/tasks', {
    body: { prompt: 'x', parentThreadId: threadId },
  });
  const patch = (change: unknown) => gateway.call('PATCH', `/v1/threads/${task.threadId}`, { body: change });
  expect((await patch({ allowedTools: ['a__x', 'b__z'] })).body.error.code).toBe('invalid_request');
  expect((await patch({ allowedTools: null })).body.error.code).toBe('invalid_request');
  expect((await patch({ allowedTools: ['a__x'], model: 'large' })).status).toBe(200);
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  expect(await worker.begin(task.threadId)).toMatchObject({ allowedTools: ['a__x'], model: 'large' });
});
