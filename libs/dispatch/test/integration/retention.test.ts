/** A thread is kept while it has work, and for the retention time after that. The tests set ages back. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { defaultLimits, scriptAt } from '../../src/index.ts';
import { type Bench, beginTurn, openBench } from '../fixture.ts';
import { openParent, tenant } from '../task-fixture.ts';

const graces = { graceMs: 1_500, busyGraceMs: 5_000, taskGraceMs: 30_000, count: 200 };
const sweep = ({ dispatch }: Bench) => dispatch.scripts.call(scriptAt('worker/sweep'), graces);

/** Sets the thread's age back, beyond the retention time. */
async function age({ dispatch, redis }: Bench, threadId: string) {
  const long = Date.now() - defaultLimits.retentionMs - 1_000;
  await redis.zadd(dispatch.keys.of('ths', tenant), long, threadId);
  await redis.zadd(`${dispatch.keys.prefix}trim`, 0, tenant);
}

async function send({ dispatch }: Bench, threadId: string) {
  const request = { input: 'hello' };
  return dispatch.runs.append({ tenant, threadId, request, idempotencyKey: randomUUID() });
}

/** Keys, without those of BullMQ. */
const keysOf = async ({ dispatch, redis }: Bench, threadId: string) =>
  (await redis.keys(`${dispatch.keys.prefix}*${threadId}*`)).filter((name) => !name.includes(':bull:'));

test('an idle thread is deleted with all its keys, and removed from its parent', async () => {
  const bench = await openBench();
  const { parentThreadId, delegate } = await openParent(bench);
  const { task } = await delegate('toolu_1');
  const { lease, tasks, threads } = bench.dispatch;
  const me = await bench.alive('wrk_a');
  const { hold } = await beginTurn(bench, task.threadId, me);
  await tasks.cancel(tenant, task.taskId);
  const turn = await beginTurn(bench, task.threadId, me);
  await lease.commit(turn, { status: 'cancelled' });
  await lease.release(hold);
  expect(await keysOf(bench, task.threadId)).not.toEqual([]);

  await age(bench, task.threadId);
  await sweep(bench);
  expect(await keysOf(bench, task.threadId)).toEqual([]);
  await expect(threads.get(tenant, task.threadId)).rejects.toMatchObject({ code: 'thread_not_found' });
  expect(await bench.redis.smembers(bench.dispatch.keys.of('kids', parentThreadId))).toEqual([]);
});

test('mail, an open task below, its own open task or a live owner keep a thread, however old it is', async () => {
  const bench = await openBench();
  const { parentThreadId, delegate } = await openParent(bench); // mail, and a task below
  const { task } = await delegate('toolu_1');
  const { thread } = await bench.dispatch.threads.create(tenant, {});
  await send(bench, thread.threadId);
  const me = await bench.alive('wrk_a');
  const turn = await beginTurn(bench, thread.threadId, me);
  await bench.dispatch.lease.commit(turn, { status: 'success' }); // owned, and idle
  const kept = [parentThreadId, task.threadId, thread.threadId];
  for (const threadId of kept) await age(bench, threadId);
  await sweep(bench);
  await sweep(bench);
  for (const threadId of kept)
    expect(await bench.dispatch.threads.get(tenant, threadId)).toMatchObject({ threadId });

  await bench.dispatch.lease.release(turn.hold);
  await age(bench, thread.threadId);
  await sweep(bench);
  expect(await keysOf(bench, thread.threadId)).toEqual([]);
});

test('no key of a thread with mail has a TTL, even if an earlier release set one', async () => {
  const bench = await openBench();
  const { keys } = bench.dispatch;
  const { thread } = await bench.dispatch.threads.create(tenant, {});
  const { threadId } = thread;
  await bench.redis.hdel(keys.of('th', threadId), 'kept');
  for (const kind of ['th', 'ev']) await bench.redis.pexpire(keys.of(kind, threadId), 60_000);
  await send(bench, threadId);
  for (const name of await keysOf(bench, threadId))
    expect([name, await bench.redis.pttl(name)]).toEqual([name, -1]);
});

test('the totals of all buses are correct again after another Redis took over', async () => {
  const bench = await openBench();
  const { bus, scripts } = bench.dispatch;
  const submit = (taskId: string) => bus.submit({ tenant, taskId });
  for (const taskId of ['a', 'b', 'c']) await submit(taskId);
  await bus.sweep();
  expect(await bus.totals()).toMatchObject({ queued: 3 });
  for (const replicationId of ['one', 'two'])
    await scripts.call(scriptAt('fail-over/note-server'), { replicationId });
  await submit('d');
  await bus.sweep();
  await submit('e');
  expect(await bus.totals()).toMatchObject({ queued: 5 });
});
