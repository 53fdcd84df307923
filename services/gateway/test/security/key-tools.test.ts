import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import { bearer, connectTestRedis, keyFor, openFakeWorker, openGateway, probe } from '../fixture.ts';

/** A key limited to some tools must not reach others through an agent. */
async function openNarrow() {
  const tools = ['probe__whoami', 'delegation__*'];
  const keys = [keyFor('narrow', { tools }), keyFor('wide')];
  const gateway = await openGateway({ keys, plugins: [...builtInPlugins, probe] });
  const worker = await openFakeWorker(gateway.dispatch, connectTestRedis());
  const call: Call = async (method, path, { body, key = 'narrow' } = {}) =>
    (await gateway.call(method, path, { body, headers: bearer(key) })).body;
  const thread = async (key: string, body = {}) =>
    (await call('POST', '/v1/threads', { body, key })).threadId;
  /** The tools of the thread's next session, and those of its run. */
  const toolsOf = async (threadId: string) => {
    const { allowedTools, hold } = await worker.begin(threadId);
    const authority = await gateway.dispatch.authorityOf({ threadId, epoch: hold.epoch });
    return [allowedTools, authority.outcome === 'ok' ? authority.tools : undefined];
  };
  return { tools, gateway, call, thread, toolsOf };
}

test('a thread that it creates has at most the key’s tools', async () => {
  const { tools, call, thread, toolsOf } = await openNarrow();
  for (const [body, expected] of [
    [{}, tools],
    [{ allowedTools: ['probe__*', 'time__current_time'] }, ['probe__whoami']],
  ] as const) {
    const threadId = await thread('narrow', body);
    await call('POST', `/v1/threads/${threadId}/runs`, { body: { input: 'x' }, key: 'wide' });
    expect((await toolsOf(threadId))[0]).toEqual(expected);
    for (const allowedTools of [null, ['time__current_time']])
      expect((await call('PATCH', `/v1/threads/${threadId}`, { body: { allowedTools } })).error.code).toBe(
        'invalid_request',
      );
  }
});

test('on another caller’s thread, the runs that it starts have no other tools', async () => {
  const { tools, call, thread, toolsOf } = await openNarrow();
  const threadId = await thread('wide');
  await call('POST', `/v1/threads/${threadId}/runs`, { body: { input: 'x' } });
  expect(await toolsOf(threadId)).toEqual([undefined, tools]);
});

test.each([
  ['POST /v1/tasks', (call: Call) => call('POST', '/v1/tasks', { body: { prompt: 'x' } })],
  [
    'a tool',
    async (call: Call) =>
      (await call('POST', '/v1/tools/delegation__delegate', { body: { arguments: { prompt: 'x' } } }))
        .structuredContent,
  ],
  [
    'a command',
    async (call: Call) => {
      const { threadId } = await call('POST', '/v1/threads', { body: {}, key: 'wide' });
      await call('POST', `/v1/threads/${threadId}/commands`, { body: { command: '/delegate x' } });
      return (await call('GET', '/v1/tasks')).tasks[0];
    },
  ],
])('a task that it delegates by %s has no others', async (_how, delegate) => {
  const { tools, call, toolsOf } = await openNarrow();
  const { threadId } = await delegate(call);
  expect((await toolsOf(threadId))[0]?.toSorted()).toEqual(tools.toSorted());
});

// biome-ignore lint/suspicious/noExplicitAny: tests read answers of every shape
type Call = (method: string, path: string, sent?: { body?: object; key?: string }) => Promise<any>;
