/** Rings, consumers and sweepers together: real queues, instant turns, lost doorbells, killed workers. */
import { randomUUID } from 'node:crypto';
import { connectRedis, createLogger } from '@harness/runtime';
import { expect, inject, onTestFinished, test } from 'vitest';
import {
  consumeRings,
  createDispatch,
  type Dispatch,
  scriptAt,
  startLiveness,
  startSweeper,
  type Turn,
} from '../../src/index.ts';

const tenant = 'default';
const logger = createLogger('test', 'silent');

function openDispatch(tag: string) {
  const connect = () => connectRedis(inject('redisUrl'), { logger, patience: 'wait' });
  const redis = connect();
  const dispatch = createDispatch({ redis, subscriber: connect(), logger, tag });
  onTestFinished(async () => {
    await dispatch.close();
    redis.disconnect();
  });
  return { redis, dispatch };
}

/**
 * A worker with instant turns. `kill` stops it like a crash: nothing is handed back, its liveness key just
 * expires.
 */
async function openWorker(
  tag: string,
  turn: (turn: Turn) => Promise<void> = async () => undefined,
  slots = 5,
) {
  const { redis, dispatch } = openDispatch(tag);
  const { keys, lease, doorbell, fair, scripts, feed } = dispatch;
  const workerId = `wrk_${randomUUID().replaceAll('-', '')}`;
  const liveness = await startLiveness(
    { redis, keys, logger },
    { workerId, ttlMs: 60_000, onUnhealthy: () => undefined },
  );
  let busy = 0;
  let dead = false;
  const consumers = consumeRings(
    { redis, keys, lease, doorbell, fair, scripts, feed, logger },
    {
      workerId,
      me: liveness.me,
      concurrency: slots,
      freeTurnSlots: () => slots - busy,
      freeSessionSlots: () => slots,
      held: () => [],
      slotsElsewhere: async () => true,
      async onRing(threadId) {
        busy++;
        try {
          const claim = await lease.claim(threadId, liveness.me());
          if (claim.outcome !== 'mine' || dead) return false;
          const begin = await lease.begin(claim.hold, randomUUID());
          if (!('turn' in begin)) return false;
          await turn(begin.turn);
          if (dead) return false;
          const done = await lease.commit(begin.turn, { status: 'success', result: begin.turn.input });
          return (done?.remaining ?? 0) > 0;
        } finally {
          busy--;
        }
      },
    },
  );
  const sweeper = startSweeper(
    { redis, keys, scripts, doorbell, logger },
    { graceMs: 200, busyGraceMs: 500, taskGraceMs: 5000 },
  );
  let drained: Promise<void> | undefined;
  const kill = async () => {
    dead = true;
    sweeper.close();
    await liveness.end();
    drained ??= consumers.drain(0, () => undefined); // a dead process takes and checks no more jobs
  };
  onTestFinished(async () => {
    await kill();
    await drained;
  });
  return { workerId, kill };
}

async function send(dispatch: Dispatch, threadIds: string[], count: number) {
  for (let n = 0; n < count; n++) {
    await Promise.all(
      threadIds.map((threadId) =>
        dispatch.runs.append({
          tenant,
          threadId,
          request: { input: String(n) },
          idempotencyKey: `${threadId} ${n}`,
        }),
      ),
    );
  }
}

const resultsOf = async (dispatch: Dispatch, threadId: string) =>
  (await dispatch.runs.list(threadId, { limit: 200, offset: 0 })).map((run) => run.result).reverse();

const openThreads = (dispatch: Dispatch, count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => (await dispatch.threads.create(tenant, {})).thread.threadId),
  );

const expected = (count: number) => Array.from({ length: count }, (_, n) => String(n));

test('three workers finish every message of twenty threads, in order', async () => {
  const tag = randomUUID();
  const { dispatch } = openDispatch(tag);
  await Promise.all([1, 2, 3].map(() => openWorker(tag)));
  const threadIds = await openThreads(dispatch, 20);
  await send(dispatch, threadIds, 10);
  for (const threadId of threadIds) {
    await expect.poll(() => resultsOf(dispatch, threadId), { timeout: 20_000 }).toEqual(expected(10));
  }
});

test('D5: a message whose doorbell was never rung is found by the sweep', async () => {
  const tag = randomUUID();
  const { dispatch } = openDispatch(tag);
  const [threadId = ''] = await openThreads(dispatch, 1);
  const mail = { runId: `run_${'0'.repeat(32)}`, kind: 'message', input: '0' };
  await dispatch.scripts.call(scriptAt('thread/append'), {
    tenant,
    threadId,
    idemHash: 'x',
    bodyHash: 'x',
    strategy: 'enqueue',
    mail,
  });
  await openWorker(tag);
  await expect.poll(() => resultsOf(dispatch, threadId)).toEqual(['0']);
});

test('a dead worker’s threads move to another, and its queue and keys are removed', async () => {
  const tag = randomUUID();
  const { redis, dispatch } = openDispatch(tag);
  const threadIds = await openThreads(dispatch, 5);
  let arrived: () => void = () => undefined;
  const stuck = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let free: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    free = resolve;
  });
  const victim = await openWorker(tag, async () => {
    arrived();
    await gate; // a turn that does not end while the test runs
  });
  onTestFinished(free);
  await send(dispatch, threadIds, 3);
  await stuck;
  await Promise.all([victim.kill(), openWorker(tag)]);
  for (const threadId of threadIds) {
    await expect.poll(() => resultsOf(dispatch, threadId), { timeout: 20_000 }).toEqual(expected(3));
  }
  await expect.poll(() => redis.keys(`*${victim.workerId}*`)).toEqual([]);
});

test('a full worker leaves unowned threads to the others', async () => {
  const tag = randomUUID();
  const { dispatch } = openDispatch(tag);
  let free: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    free = resolve;
  });
  const full = await openWorker(tag, () => gate, 1);
  const [first = '', ...others] = await openThreads(dispatch, 6);
  await send(dispatch, [first], 1);
  await expect
    .poll(async () => (await dispatch.runs.list(first, { limit: 1, offset: 0 }))[0]?.status)
    .toBe('running');
  await openWorker(tag);
  await send(dispatch, others, 1);
  for (const threadId of others) {
    await expect.poll(() => resultsOf(dispatch, threadId)).toEqual(['0']);
  }
  expect(full.workerId).toMatch(/^wrk_/);
  free();
  await expect.poll(() => resultsOf(dispatch, first)).toEqual(['0']);
});

test('a check-in reaches the parent once, however often it is sent', async () => {
  const tag = randomUUID();
  const { dispatch } = openDispatch(tag);
  await openWorker(tag);
  const [parentThreadId = ''] = await openThreads(dispatch, 1);
  const { task } = await dispatch.tasks.create({ tenant, prompt: 'p', parentThreadId });
  const say = (message: string, toolUseId: string) =>
    dispatch.tasks.checkin({ taskId: task.taskId, message, toolUseId });
  for (const _ of [1, 2, 3]) await say('half way', 'toolu_1');
  await say('nearly', 'toolu_2');
  const checkins = async () =>
    (await dispatch.events.read({ threadId: parentThreadId }, undefined, 100))
      .filter((event) => event.type === 'task.checkin')
      .map((event) => event.data.message);
  await expect.poll(async () => (await checkins()).toSorted()).toEqual(['half way', 'nearly']);
});

test('beside a tenant with hundreds of waiting messages, another’s first turn begins when a slot is free', async () => {
  const tag = randomUUID();
  const { dispatch } = openDispatch(tag);
  const slots = 2;
  const begun: string[] = [];
  const gates: (() => void)[] = [];
  let isOpen = false;
  const atGate: (() => void)[] = [];
  /** Each turn lasts until the test ends it. */
  await openWorker(
    tag,
    async ({ hold }) => {
      begun.push(hold.threadId);
      if (isOpen) return;
      await new Promise<void>((resolve) => {
        gates.push(resolve);
        atGate.shift()?.();
      });
    },
    slots,
  );
  const next = () => (gates.length > 0 ? undefined : new Promise<void>((resolve) => atGate.push(resolve)));
  const busy = await openThreads(dispatch, 30);
  await send(dispatch, busy, 10);
  await expect.poll(() => gates.length).toBe(slots);
  const quiet: string[] = [];
  for (const name of ['one', 'two']) {
    const { thread } = await dispatch.threads.create(name, {});
    quiet.push(thread.threadId);
    await dispatch.runs.append({
      tenant: name,
      threadId: thread.threadId,
      request: { input: 'hello' },
      idempotencyKey: name,
    });
  }
  await expect.poll(async () => dispatch.fair.othersWait(busy[0] as string)).toBe(true);
  const before = begun.length;
  for (let ended = 0; ended < 2 * slots + 2; ended++) {
    await next();
    gates.shift()?.();
  }
  await expect.poll(() => quiet.every((threadId) => begun.includes(threadId))).toBe(true);
  const places = quiet.map((threadId) => begun.indexOf(threadId) - before);
  expect(Math.max(...places)).toBeLessThanOrEqual(3);
  isOpen = true;
  for (const open of gates) open();
  for (const threadId of busy)
    await expect.poll(() => resultsOf(dispatch, threadId), { timeout: 10_000 }).toEqual(expected(10));
});
