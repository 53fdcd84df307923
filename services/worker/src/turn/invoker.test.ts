import { expect, test, vi } from 'vitest';
import { createFakeSession, type FakeSession } from '../../test/fake-session.ts';
import { createSessionPool } from '../session/pool/session-pool.ts';
import { createInvoker, sessionKeyOf } from './invoker.ts';
import { turnScope } from './turn-scope.ts';

function openInvoker() {
  const opened: FakeSession[] = [];
  const pool = createSessionPool({ maxSessions: () => 5, idleTtlMs: 60_000, onEvict: () => undefined });
  const invoker = createInvoker({
    pool,
    plugin: 'test',
    defaultModel: undefined,
    prewarmThread: async (_tenant, threadId) => threadId === 'a thread',
    async openSession() {
      const session = createFakeSession();
      opened.push(session);
      return { session, path: 'cold' };
    },
  });
  /** Waits until the session was asked, and responds with the text. */
  const answer = async (nth: number, text: string) => {
    await vi.waitFor(() => expect(opened[nth]?.asked.length).toBe(1), { interval: 1 });
    opened[nth]?.answer(text);
  };
  return { invoker, opened, answer, pool };
}

test.each([
  [{ threadId: 't', sessionId: 's' }, 't'],
  [{ sessionId: 's' }, 's'],
  [{}, 'default'],
])('the key of %j is %j', (options, key) => {
  expect(sessionKeyOf(options)).toBe(key);
});

test.each([
  [{ threadId: 't' }, { threadId: 't', sessionId: 'other' }],
  [{ sessionId: 's' }, { sessionId: 's' }],
  [{}, {}],
])('calls of %j and %j share a conversation', async (first, second) => {
  const { invoker, opened, answer } = openInvoker();
  const one = invoker.invoke('one', first);
  await answer(0, '1');
  expect(await one).toBe('1');
  const two = invoker.invoke('two', second);
  await answer(0, '2');
  expect(await two).toBe('2');
  expect(opened).toHaveLength(1);
});

test('other keys, other tenants and other tasks have other conversations', async () => {
  const { invoker, opened, answer } = openInvoker();
  const within = (tenant: string, taskId: string) =>
    turnScope.run({ tenant, taskId, threadId: 'x', signal: new AbortController().signal }, () =>
      invoker.invoke('q'),
    );
  const calls = [
    invoker.invoke('q', { sessionId: 'a' }),
    within('one', 'task'),
    within('two', 'task'),
    within('one', 'other'),
  ];
  await Promise.all(calls.map((_, n) => answer(n, String(n))));
  expect((await Promise.all(calls)).sort()).toEqual(['0', '1', '2', '3']);
  expect(opened).toHaveLength(4);
});

test('the model response is streamed through onMessage', async () => {
  const { invoker, opened, answer } = openInvoker();
  const seen: unknown[] = [];
  const call = invoker.invoke('q', { onMessage: (message) => void seen.push(message) });
  await vi.waitFor(() => expect(opened[0]?.asked.length).toBe(1), { interval: 1 });
  opened[0]?.asked[0]?.onEvent({ type: 'agent.message_delta', text: 'he' });
  opened[0]?.asked[0]?.onEvent({ type: 'agent.message', text: 'hello' });
  await answer(0, 'hello');
  await call;
  expect(seen).toEqual([
    { type: 'delta', text: 'he' },
    { type: 'message', text: 'hello' },
  ]);
});

test.each([[{ threadId: 't' }], [{ sessionId: 's' }], [{}]])(
  'a time-out ends the call and evicts the session of %j, so the next call has a new one',
  async (options) => {
    const { invoker, opened, answer } = openInvoker();
    await expect(invoker.invoke('q', { ...options, timeout: 20 })).rejects.toMatchObject({
      code: 'invoke_timeout',
    });
    expect(opened[0]?.ended).toBe(true);
    const next = invoker.invoke('again', options);
    await answer(1, 'ok');
    expect(await next).toBe('ok');
  },
);

test('calls with one key wait for each other', async () => {
  const { invoker, opened, answer } = openInvoker();
  const calls = [invoker.invoke('one'), invoker.invoke('two')];
  await answer(0, '1');
  await answer(0, '2');
  expect(await Promise.all(calls)).toEqual(['1', '2']);
  expect(opened).toHaveLength(1);
});

test('prewarm starts the session that the next invoke with the same key uses; for a thread it prewarms the thread', async () => {
  const { invoker, opened, answer } = openInvoker();
  await invoker.prewarm({ sessionId: 'a' });
  await invoker.prewarm({ sessionId: 'a' });
  expect(opened).toHaveLength(1);
  const asked = invoker.invoke('q', { sessionId: 'a' });
  await answer(0, 'warm');
  expect(await asked).toBe('warm');
  await invoker.prewarm({ threadId: 'a thread' });
  expect(opened).toHaveLength(1);
  await invoker.prewarm({ threadId: 'a key of the plugin’s own' });
  expect(opened).toHaveLength(2);
});
