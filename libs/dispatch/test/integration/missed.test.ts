import { expect, test } from 'vitest';
import type { Signal } from '../../src/gateway/replicas.ts';
import { beginTurn, openBench } from '../fixture.ts';

const tenant = 'default';

test('missed signals are received in order, once, by the gateways that they were for', async () => {
  const bench = await openBench();
  const { dispatch, subscriber } = bench;
  const { replicas } = dispatch;
  await replicas.join();
  const received: Signal[] = [];
  replicas.onSignal((signal) => {
    if (signal.kind !== 'missed') received.push(signal);
  });
  const receives = (count: number) => expect.poll(() => received.length, { timeout: 10_000 }).toBe(count);
  await replicas.broadcast({ kind: 'cancel', call: 'heard' });
  await receives(1);
  subscriber.disconnect(true); // disconnected: it misses what is published until it reconnects
  await replicas.broadcast({ kind: 'task_cancelled', taskId: 'call_1' });
  await replicas.send(replicas.id, { kind: 'reply', message: { id: 1 } });
  await replicas.send('someone-else', { kind: 'reply', message: { id: 2 } });
  await replicas.broadcast({ kind: 'session_ended', sessionId: 's' });
  await receives(4);
  await replicas.broadcast({ kind: 'cancel', call: 'after' });
  await receives(5);
  expect(received.filter(({ kind }) => kind !== 'reply')).toEqual([
    { kind: 'cancel', call: 'heard' },
    { kind: 'task_cancelled', taskId: 'call_1' },
    { kind: 'session_ended', sessionId: 's' },
    { kind: 'cancel', call: 'after' },
  ]);
  expect(received.filter(({ kind }) => kind === 'reply')).toEqual([{ kind: 'reply', message: { id: 1 } }]);
  // Nothing is kept for a gateway that is not alive.
  expect(await bench.redis.exists(`${dispatch.keys.one('signals')}:someone-else`)).toBe(0);
});

test('a worker that missed messages catches up: lost threads, runs to end, whether to drain', async () => {
  const bench = await openBench();
  const { dispatch } = bench;
  const { lease, runs, threads, workers } = dispatch;
  const me = await bench.alive('wrk_a');
  const begun = async () => {
    const { thread } = await threads.create(tenant, {});
    const { threadId } = thread;
    await runs.append({ tenant, threadId, request: { input: 'x' }, idempotencyKey: threadId });
    const { hold, runId } = await beginTurn(bench, threadId, me);
    return { threadId, epoch: hold.epoch, runId };
  };
  const [kept, cancelled, overtaken, taken, deleted] = [
    await begun(),
    await begun(),
    await begun(),
    await begun(),
    await begun(),
  ];
  const held = [kept, cancelled, overtaken, taken, deleted];
  expect(await lease.catchUp(me, held)).toEqual({ lost: [], cancel: [], interrupt: [], drain: false });

  await runs.cancel(tenant, cancelled.threadId, cancelled.runId);
  const interrupting = { input: 'y', multitaskStrategy: 'interrupt' } as const;
  await runs.append({
    tenant,
    threadId: overtaken.threadId,
    request: interrupting,
    idempotencyKey: 'interrupts',
  });
  await workers.report('wrk_a', {} as never, 60_000);
  await workers.drain('wrk_a');
  await bench.dies('wrk_a');
  await lease.claim(taken.threadId, await bench.alive('wrk_b'));
  await threads.delete(tenant, deleted.threadId);
  expect(await lease.catchUp(me, held)).toEqual({
    lost: [taken.threadId, deleted.threadId],
    cancel: [cancelled.runId],
    interrupt: [overtaken.runId],
    drain: true,
  });
});
