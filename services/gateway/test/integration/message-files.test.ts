/** Files that come with a message. */
import { expect, test } from 'vitest';
import { connectTestRedis, openFakeWorker } from '../fixture.ts';
import { openThread } from '../thread-with-files.ts';

test('files of a message become a manifest that its turn gets', async () => {
  const { gateway, threadId, url } = await openThread();
  const contentBase64 = Buffer.from('hello').toString('base64');
  const files = [{ path: 'in/hello.txt', contentBase64 }];
  const headers = { 'idempotency-key': 'k' };
  const [one, again] = [
    await gateway.call('POST', `${url}/runs`, { body: { input: 'x', files }, headers }),
    await gateway.call('POST', `${url}/runs`, { body: { input: 'x', files }, headers }),
  ];
  expect([one.status, again.body.runId]).toEqual([202, one.body.runId]);
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const { filesIn = '' } = await worker.begin(threadId);
  const diff = await gateway.call('GET', `${url}/diff?to=${filesIn}&from=${filesIn}`);
  expect([diff.status, diff.body]).toEqual([200, '']);
  const bad = [
    [{ path: '../x', contentBase64 }],
    [{ path: 'x', contentBase64: '§' }],
    [{ path: 'x' }],
    Array.from({ length: 51 }, (_, n) => ({ path: `f${n}`, contentBase64 })),
  ];
  for (const list of bad) {
    const { status } = await gateway.call('POST', `${url}/runs`, { body: { input: 'x', files: list } });
    expect([list[0], status]).toEqual([list[0], 400]);
  }
});

test('a message with files is refused where its session would not find them', async () => {
  const { gateway } = await openThread({ workspaces: 'auto' });
  const files = [{ path: 'a', contentBase64: '' }];
  const statusFor = async (thread: object) => {
    const { threadId } = (await gateway.call('POST', '/v1/threads', { body: thread })).body;
    const sent = { body: { input: 'x', files } };
    const { status, body } = await gateway.call('POST', `/v1/threads/${threadId}/runs`, sent);
    return [status, body.error?.code];
  };
  expect(await statusFor({})).toEqual([422, 'workspace_refused']);
  expect(await statusFor({ allowedTools: ['time__*'] })).toEqual([422, 'workspace_refused']);
  expect(await statusFor({ workspace: true })).toEqual([202, undefined]);
  expect(await statusFor({ allowedTools: ['Read', 'time__*'] })).toEqual([202, undefined]);
});
