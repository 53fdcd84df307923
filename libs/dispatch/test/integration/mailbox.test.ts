import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Bench, beginTurn, hold, openBench } from '../fixture.ts';

const tenant = 'default';

async function openThread(bench: Bench) {
  const { thread } = await bench.dispatch.threads.create(tenant, {});
  const { threadId } = thread;
  const send = (input: string, idempotencyKey: string = randomUUID()) =>
    bench.dispatch.runs.append({ tenant, threadId, request: { input }, idempotencyKey });
  return { threadId, send };
}

test('a message is accepted once per idempotency key', async () => {
  const bench = await openBench();
  const { send, threadId } = await openThread(bench);
  const first = await send('hello', 'k1');
  const again = await send('hello', 'k1');
  expect(again).toEqual({ run: first.run, created: false });
  await expect(send('something else', 'k1')).rejects.toMatchObject({ code: 'idempotency_conflict' });
  expect(await bench.dispatch.runs.list(threadId, { limit: 10, offset: 0 })).toHaveLength(1);
});

test('results come in order, one per message', async () => {
  const bench = await openBench();
  const { send, threadId } = await openThread(bench);
  const sent = [await send('a'), await send('b'), await send('c')];
  const me = await bench.alive('wrk_a');
  for (const { run } of sent) {
    const turn = await beginTurn(bench, threadId, me);
    expect(turn).toMatchObject({ runId: run.runId, seq: run.seq, attempt: 1 });
    await bench.dispatch.lease.commit(turn, { status: 'success', result: turn.input.toUpperCase() });
  }
  const runs = await bench.dispatch.runs.list(threadId, { limit: 10, offset: 0 });
  expect(runs.map((run) => run.result)).toEqual(['C', 'B', 'A']);
  expect(await bench.dispatch.threads.get(tenant, threadId)).toMatchObject({ state: 'idle' });
});

test('a worker that lost its thread is fenced from emit and commit', async () => {
  const bench = await openBench();
  const { send, threadId } = await openThread(bench);
  await send('work');
  const zombie = await beginTurn(bench, threadId, await bench.alive('wrk_a'));
  await bench.dies('wrk_a');
  const turn = await beginTurn(bench, threadId, await bench.alive('wrk_b'));
  expect(turn).toMatchObject({ attempt: 2, runId: zombie.runId });
  expect(turn.hold.epoch).toBeGreaterThan(zombie.hold.epoch);
  const { lease } = bench.dispatch;
  expect(
    await lease.emit(zombie, { counter: 1, events: [{ type: 'agent.message', text: 'stale' }] }),
  ).toEqual({
    lost: true,
    cancel: false,
    interrupt: false,
  });
  expect(await lease.commit(zombie, { status: 'success', result: 'stale' })).toBeUndefined();
  expect(await lease.commit(turn, { status: 'success', result: 'fresh' })).toEqual({ remaining: 0 });
  expect(await bench.dispatch.runs.get(tenant, threadId, turn.runId)).toMatchObject({
    result: 'fresh',
    attempt: 2,
  });
});

test('a live owner keeps its thread', async () => {
  const bench = await openBench();
  const { threadId } = await openThread(bench);
  await hold(bench, threadId, await bench.alive('wrk_a'));
  const other = await bench.alive('wrk_b');
  expect(await bench.dispatch.lease.claim(threadId, other)).toEqual({ outcome: 'owned', owner: 'wrk_a' });
});

test('a repeat of begin, emit or commit changes nothing', async () => {
  const bench = await openBench();
  const { send, threadId } = await openThread(bench);
  await send('work');
  const me = await bench.alive('wrk_a');
  const held = await hold(bench, threadId, me);
  const { lease, events } = bench.dispatch;
  const first = await lease.begin(held, 'n1');
  expect(await lease.begin(held, 'n1')).toEqual(first);
  if (first.outcome !== 'run') throw new Error(first.outcome);
  for (const _ of [1, 2])
    await lease.emit(first.turn, { counter: 1, events: [{ type: 'agent.message', text: 'once' }] });
  for (const _ of [1, 2]) await lease.commit(first.turn, { status: 'success', result: 'done' });
  const types = (await events.read({ threadId }, undefined, 100)).map((event) => event.type);
  expect(types).toEqual(['thread.created', 'run.queued', 'run.started', 'agent.message', 'run.completed']);
});

test('after three crashes a message is parked, and the thread continues', async () => {
  const bench = await openBench();
  const { send, threadId } = await openThread(bench);
  await send('poison');
  const me = await bench.alive('wrk_a');
  const held = await hold(bench, threadId, me);
  const outcomes = [];
  for (const nonce of ['1', '2', '3', '4'])
    outcomes.push((await bench.dispatch.lease.begin(held, nonce)).outcome);
  expect(outcomes).toEqual(['run', 'run', 'run', 'park']);
});

test('a handed back turn does not count as an attempt', async () => {
  const bench = await openBench();
  const { send, threadId } = await openThread(bench);
  await send('work');
  const me = await bench.alive('wrk_a');
  const turn = await beginTurn(bench, threadId, me);
  await bench.dispatch.lease.handBack(turn);
  expect(await beginTurn(bench, threadId, me)).toMatchObject({ attempt: 1 });
});

test('a waiting run that is cancelled reads `cancelled` at once and is committed in its order', async () => {
  const bench = await openBench();
  const { send, threadId } = await openThread(bench);
  await send('first');
  const { run } = await send('second');
  expect(await bench.dispatch.runs.cancel(tenant, threadId, run.runId)).toMatchObject({
    status: 'cancelled',
  });
  const me = await bench.alive('wrk_a');
  await bench.dispatch.lease.commit(await beginTurn(bench, threadId, me), {
    status: 'success',
    result: 'ok',
  });
  const held = await hold(bench, threadId, me);
  expect(await bench.dispatch.lease.begin(held, 'n')).toMatchObject({
    outcome: 'cancelled',
    turn: { runId: run.runId },
  });
});

test('a full mailbox refuses, and strategy reject names the run in progress', async () => {
  const bench = await openBench({ maxMail: 2 });
  const { send, threadId } = await openThread(bench);
  const { run } = await send('1');
  const request = { input: 'x', multitaskStrategy: 'reject' as const };
  const rejected = bench.dispatch.runs.append({ tenant, threadId, request, idempotencyKey: 'k' });
  await expect(rejected).rejects.toMatchObject({ code: 'run_in_progress', details: { runId: run.runId } });
  await send('2');
  await expect(send('3')).rejects.toMatchObject({ code: 'mailbox_full' });
});

test('another tenant sees nothing', async () => {
  const bench = await openBench();
  const { send, threadId } = await openThread(bench);
  const { run } = await send('secret');
  const { threads, runs } = bench.dispatch;
  await expect(threads.get('other', threadId)).rejects.toMatchObject({ code: 'thread_not_found' });
  await expect(runs.get('other', threadId, run.runId)).rejects.toMatchObject({ code: 'run_not_found' });
  await expect(threads.delete('other', threadId)).rejects.toMatchObject({ code: 'thread_not_found' });
});

test('mail lost with a torn log is counted and skipped', async () => {
  const bench = await openBench();
  const { send, threadId } = await openThread(bench);
  await send('lost');
  await send('kept');
  await bench.redis.xdel(bench.dispatch.keys.of('mb', threadId), '1-0');
  const turn = await beginTurn(bench, threadId, await bench.alive('wrk_a'));
  expect(turn).toMatchObject({ seq: 2, input: 'kept' });
  expect(await bench.redis.get(bench.dispatch.keys.one('gaps'))).toBe('1');
});
