/** A primary and its replica: no outcome is reported that a fail-over could take back. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openRedisGroup, type RedisGroup } from '../../../runtime/test/redis-group.ts';
import type { Hold } from '../../src/index.ts';
import { type Bench, beginTurn, hold, openBench } from '../fixture.ts';

const tenant = 'default';
let group: RedisGroup;
beforeAll(async () => {
  group = await openRedisGroup({ sentinels: 0 });
}, 30_000);
afterAll(() => group.close());
beforeEach(() => group.replica().go());

async function openThread(acks = 1) {
  const bench = await openBench({}, { url: group.url, acks });
  const { runs, threads } = bench.dispatch;
  // The connection that waits for replicas is not ready at once.
  const { thread } = await expect
    .poll(() => threads.create(tenant, {}).catch(() => undefined))
    .toBeDefined()
    .then(() => threads.create(tenant, {}));
  const { threadId } = thread;
  const send = (idempotencyKey: string = randomUUID()) =>
    runs.append({ tenant, threadId, request: { input: 'hello' }, idempotencyKey });
  return { bench, threadId, send };
}

const redisCalls = async (name: string) => {
  const info = await group.primary().client.info('commandstats');
  return Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(info)?.[1] ?? 0);
};

test('a message is accepted when the replica has it; a repeat waits as well, though it writes nothing', async () => {
  const { bench, send } = await openThread();
  let missed = 0;
  bench.dispatch.onAckMissing(() => void missed++);
  const { run } = await send('k1');
  expect(await group.replica().client.keys(`*run:${run.runId}`)).toHaveLength(1);

  group.replica().stop();
  const refusal = {
    code: 'unavailable',
    message: expect.stringMatching(/0 of the 1 required replicas.*same Idempotency-Key/s),
  };
  await expect(send('k2')).rejects.toMatchObject(refusal);
  await expect(send('k2')).rejects.toMatchObject(refusal);
  await expect(send('k1')).rejects.toMatchObject(refusal);
  expect(missed).toBe(3);
  group.replica().go();
  await expect.poll(() => send('k2').catch(() => undefined)).toMatchObject({ created: false });
});

test('a commit that no replica confirmed is repeated under its nonce, and is the same commit', async () => {
  const { bench, send, threadId } = await openThread();
  await send();
  const turn = await beginTurn(bench, threadId, await bench.alive('wrk_a'));
  group.replica().stop();
  const commit = () => bench.dispatch.lease.commit(turn, { status: 'success', result: 'done' });
  await expect(commit()).rejects.toMatchObject({ code: 'unavailable' });
  group.replica().go();
  await expect.poll(() => commit().catch(() => undefined)).toEqual({ remaining: 0 });
  const run = await bench.dispatch.runs.get(tenant, threadId, turn.runId);
  expect(run).toMatchObject({ status: 'success', result: 'done', attempt: 1 });
});

test('an ack of another history does not count: a write before a change of Redis is not confirmed after it', async () => {
  const { send } = await openThread();
  group.replica().stop();
  const sending = send('k1');
  await expect.poll(() => group.primary().client.client('LIST')).toMatch(/cmd=wait/);
  await group.primary().client.call('DEBUG', 'CHANGE-REPL-ID');
  group.replica().go();
  await expect(sending).rejects.toMatchObject({ code: 'unavailable' });
  await expect.poll(() => send('k1').catch(() => undefined)).toMatchObject({ created: false });
});

test('concurrent writes share one wait', async () => {
  const { bench } = await openThread();
  const before = await redisCalls('wait');
  await Promise.all(Array.from({ length: 200 }, () => bench.dispatch.threads.create(tenant, {})));
  expect((await redisCalls('wait')) - before).toBeLessThan(40);
});

test('when another Redis takes over, the change is counted once, listeners are notified, and lost messages are counted', async () => {
  const { bench, send } = await openThread(0);
  const [lost, kept] = [await send(), await send()];
  const { keys } = bench.dispatch;
  await bench.redis.del(keys.of('run', lost.run.runId));
  const before = await bench.dispatch.counters();
  const notified = new Promise<void>((resolve) => bench.dispatch.onRedisChange(resolve));
  await group.primary().client.call('DEBUG', 'CHANGE-REPL-ID');
  await group.primary().client.client('KILL', 'TYPE', 'NORMAL');
  await notified;
  await expect
    .poll(() => bench.dispatch.counters())
    .toMatchObject({
      lost: before.lost + 1,
      redisChanges: before.redisChanges + 1,
    });
  expect(await bench.redis.exists(keys.of('run', kept.run.runId))).toBe(1);
});

/** What a lagging replica knows of a thread: an earlier claim. */
const takeBack = (bench: Bench, { threadId, me: owner, epoch }: Hold) =>
  bench.redis.hset(bench.dispatch.keys.of('th', threadId), { owner, epoch });

test('an epoch that a fail-over took back is never used again, and its token is no longer valid', async () => {
  const { bench, send, threadId } = await openThread(0);
  await send();
  const first = await beginTurn(bench, threadId, await bench.alive('wrk_a'));
  await bench.dies('wrk_a');
  const lost = await beginTurn(bench, threadId, await bench.alive('wrk_b'));
  await takeBack(bench, first.hold);

  const third = await hold(bench, threadId, await bench.alive('wrk_c'));
  expect(third.epoch).toBeGreaterThan(lost.hold.epoch);
  const token = { threadId, epoch: lost.hold.epoch, owner: lost.hold.me };
  expect(await bench.dispatch.authorityOf(token)).toEqual({ outcome: 'stale' });
  // Even if the clocks of two machines differ and both chose the same epoch, the owner distinguishes them.
  const twin = { ...token, epoch: third.epoch };
  expect(await bench.dispatch.authorityOf(twin)).toEqual({ outcome: 'stale' });
});

test('the result of a message that Redis has lost is not stored for the message that gets its seq', async () => {
  const { bench, send, threadId } = await openThread(0);
  const { run } = await send();
  const turn = await beginTurn(bench, threadId, await bench.alive('wrk_a'));
  const { keys, lease, runs } = bench.dispatch;
  await bench.redis.del(keys.of('run', run.runId), keys.of('mb', threadId), keys.of('runs', threadId));
  await bench.redis.hset(keys.of('th', threadId), { last: 0 });
  expect(await lease.commit(turn, { status: 'success', result: 'of the lost one' })).toBeUndefined();

  const next = await send();
  expect(next.run.seq).toBe(1);
  const again = await beginTurn(bench, threadId, turn.hold.me);
  expect(again.runId).toBe(next.run.runId);
  await lease.commit(again, { status: 'success', result: 'of this one' });
  expect(await runs.get(tenant, threadId, next.run.runId)).toMatchObject({ result: 'of this one' });
});
