/**
 * Dispatch overhead: the time from the append of a message to its commit, with a turn that takes no time.
 * Compared in the same round with a BullMQ job from add to processed (the peer: no order, no lease, no
 * result), and with one PING.
 *
 * This folder:
 *   accept-rate.ts messages that one gateway accepts per second
 *   fail-over.ts   from a worker's death to the run's next attempt
 *   bus-poll.ts    from a bus task's submission to its delivery
 *   throughput.ts  turns per second of 1, 2 and 4 workers
 *   growth.ts      commands and CPU of Redis per run; idle threads and tenants
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { newWorkerId } from '@harness/contracts';
import { consumeRings, createDispatch, startLiveness } from '@harness/dispatch';
import { connectRedis, createLogger } from '@harness/runtime';
import { Queue, Worker } from 'bullmq';
import { quantile } from '../figures.ts';

const logger = createLogger('bench', 'silent');
const tenant = 'default';
const workers = 3;
const messages = 500;

/** Figures of one round: ours, BullMQ, one PING. */
export interface DispatchRound {
  oursP50Ms: number;
  oursP99Ms: number;
  bullP50Ms: number;
  bullP99Ms: number;
  pingP50Ms: number;
}

/** Measures one round. */
export async function measureDispatch(redisUrl: string): Promise<DispatchRound> {
  const ours = (await measureOurs(redisUrl)).toSorted((a, b) => a - b);
  const bull = (await measureBullMq(redisUrl)).toSorted((a, b) => a - b);
  const ping = (await measurePing(redisUrl)).toSorted((a, b) => a - b);
  return {
    oursP50Ms: quantile(ours, 0.5),
    oursP99Ms: quantile(ours, 0.99),
    bullP50Ms: quantile(bull, 0.5),
    bullP99Ms: quantile(bull, 0.99),
    pingP50Ms: quantile(ping, 0.5),
  };
}

async function measureOurs(redisUrl: string): Promise<number[]> {
  const connect = () => connectRedis(redisUrl, { logger, patience: 'wait' });
  const tag = randomUUID();
  const closing: (() => Promise<unknown>)[] = [];
  const committed = createSignals();
  const openDispatch = () => {
    const redis = connect();
    const dispatch = createDispatch({ redis, subscriber: connect(), logger, tag });
    return { redis, dispatch };
  };
  for (let n = 0; n < workers; n++) {
    const { redis, dispatch } = openDispatch();
    const { keys, lease, doorbell, fair, scripts, feed } = dispatch;
    const workerId = newWorkerId();
    const liveness = await startLiveness(
      { redis, keys, logger },
      { workerId, ttlMs: 60_000, onUnhealthy: () => undefined },
    );
    const consumers = consumeRings(
      { redis, keys, lease, doorbell, fair, scripts, feed, logger },
      {
        workerId,
        me: liveness.me,
        concurrency: 10,
        freeTurnSlots: () => 10,
        freeSessionSlots: () => 10,
        held: () => [],
        slotsElsewhere: async () => false,
        async onRing(threadId) {
          const claim = await lease.claim(threadId, liveness.me());
          if (claim.outcome !== 'mine') return false;
          const begin = await lease.begin(claim.hold, randomUUID());
          if (!('turn' in begin)) return false;
          const done = await lease.commit(begin.turn, { status: 'success', result: 'done' });
          committed.raise(begin.turn.runId);
          return done !== undefined && done.remaining > 0;
        },
      },
    );
    closing.push(async () => {
      await consumers.drain(1_000, () => undefined);
      await liveness.end();
      await dispatch.close();
      redis.disconnect();
    });
  }
  const { redis, dispatch } = openDispatch();
  const threads = await Promise.all(Array.from({ length: 20 }, () => dispatch.threads.create(tenant, {})));
  const tookMs: number[] = [];
  for (let n = 0; n < messages; n++) {
    const threadId = threads[n % threads.length]?.thread.threadId ?? '';
    const startedAt = performance.now();
    const { run } = await dispatch.runs.append({
      tenant,
      threadId,
      request: { input: 'x' },
      idempotencyKey: String(n),
    });
    await committed.of(run.runId);
    tookMs.push(performance.now() - startedAt);
  }
  await Promise.all(closing.map((close) => close()));
  await dispatch.close();
  redis.disconnect();
  return tookMs.slice(messages / 10); // without the warm-up
}

/** Events that occur once each; they may occur before or after the call that waits for them. */
function createSignals() {
  const signals = new Map<string, PromiseWithResolvers<void>>();
  const signalOf = (name: string) => {
    const signal = signals.get(name) ?? Promise.withResolvers<void>();
    signals.set(name, signal);
    return signal;
  };
  return { raise: (name: string) => signalOf(name).resolve(), of: (name: string) => signalOf(name).promise };
}

async function measureBullMq(redisUrl: string): Promise<number[]> {
  const connection = connectRedis(redisUrl, { logger, patience: 'wait' });
  const name = `peer-${randomUUID()}`;
  const queue = new Queue(name, { connection });
  const done = new Map<string, () => void>();
  const worker = new Worker(name, async (job) => done.get(job.name)?.(), { connection, concurrency: 10 });
  await worker.waitUntilReady();
  const tookMs: number[] = [];
  for (let n = 0; n < messages; n++) {
    const startedAt = performance.now();
    const processed = new Promise<void>((resolve) => done.set(`job ${n}`, resolve));
    await queue.add(`job ${n}`, {}, { removeOnComplete: true });
    await processed;
    tookMs.push(performance.now() - startedAt);
  }
  await worker.close();
  await queue.obliterate({ force: true });
  await queue.close();
  connection.disconnect();
  return tookMs.slice(messages / 10);
}

async function measurePing(redisUrl: string): Promise<number[]> {
  const redis = connectRedis(redisUrl, { logger, patience: 'wait' });
  await once(redis, 'ready');
  const tookMs: number[] = [];
  for (let n = 0; n < messages; n++) {
    const startedAt = performance.now();
    await redis.ping();
    tookMs.push(performance.now() - startedAt);
  }
  redis.disconnect();
  return tookMs;
}
