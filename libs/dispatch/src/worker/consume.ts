/**
 * The queue consumers of a worker: `assign`, its own doorbells, its own rings, and check-ins.
 *
 * This folder:
 *   assign.ts          claims unowned threads from the queue `assign`
 *   queue-consumer.ts  a consumer of one BullMQ queue: locks, stalled jobs, errors
 *   liveness.ts        the worker's liveness key, and when to stop because of it
 *   control.ts         control messages to the worker: cancel, interrupt, drop, drain
 *   workers.ts         what workers report of themselves; drain
 *   sweeper.ts         runs sweep.lua and repair-task.lua periodically
 *   note.lua           script of a check-in
 */
import type { Redis } from 'ioredis';
import type { FairShare } from '../fair/fair-share.ts';
import { checkinQueue, type Doorbell, doorbellQueueOf } from '../lease/doorbell.ts';
import type { Lease } from '../lease/lease.ts';
import { createOwnRings, followOwnRings } from '../lease/own-rings.ts';
import type { Feed } from '../redis/feed.ts';
import { createGate } from '../redis/gate.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { CheckinJob } from '../task/tasks.ts';
import { type Capacity, consumeAssign } from './assign.ts';
import { consumeQueue } from './queue-consumer.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['note'] });

/** How a worker handles rings, and how much it can take. */
export interface RingHandler extends Capacity {
  /**
   * Runs at most one turn of the thread; resolves with true when there is more to do. Throws only before a
   * prompt is sent: then BullMQ rings again later, unless this was the last try.
   */
  onRing(threadId: string, lastTry: boolean): Promise<boolean>;
  /** Turns that may run at once. */
  concurrency: number;
  /** The threads that it owns. */
  held(): string[];
}

/** The running consumers. */
export interface Consumers {
  /**
   * Accepts no more rings and waits up to `limitMs` for turns in progress; then calls `stop` to end them, and
   * waits a few seconds more.
   */
  drain(limitMs: number, stop: () => void): Promise<void>;
}

/** Starts the consumers. */
export function consumeRings(
  deps: {
    redis: Redis;
    keys: Keys;
    lease: Lease;
    doorbell: Doorbell;
    fair: FairShare;
    scripts: Scripts;
    feed: Feed;
    logger: Log;
  },
  handler: RingHandler,
): Consumers {
  const { keys, doorbell, fair, scripts, feed, logger } = deps;
  const assign = consumeAssign(deps, handler);
  // Both kinds of rings share this gate: as many threads at once as the worker has slots.
  const gate = createGate(handler.concurrency);
  /** Slots that are kept free for a thread that `assign` takes: each ends with the arrival of one. */
  const kept = new Set<() => void>();
  const arrivalWithin = async (ms: number): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const arrive = () => resolve(true);
    kept.add(arrive);
    const came = await Promise.race([promise, after(ms).then(() => false)]);
    kept.delete(arrive);
    return came;
  };
  /** Keeps a slot free while a tenant other than the thread's waits, until a thread that `assign` takes has come. */
  const keepFree = async (threadId: string): Promise<void> => {
    for (let tries = 0; tries < maxYields; tries++) {
      if (!assign.isExpecting() && !(await fair.othersWait(threadId).catch(() => false))) return;
      assign.resume(true);
      if (await arrivalWithin(yieldMs)) return;
    }
  };
  /** Runs the thread's next turn. If there is more to do here, other tenants get the slot first. */
  const runTurn = async (threadId: string, lastTry: boolean): Promise<boolean> => {
    const more = await handler.onRing(threadId, lastTry);
    if (more || gate.isWaiting()) await keepFree(threadId);
    return more;
  };

  const own = consumeQueue(deps, {
    queue: doorbellQueueOf(handler.workerId),
    // The gate limits turns; the doorbell for a slot that is kept free must not wait behind others.
    concurrency: handler.concurrency + 50,
    async process({ data, attemptsMade, opts }) {
      const isLastTry = attemptsMade + 1 >= (opts.attempts ?? 1);
      const isNew = assign.isClaimed(data.threadId);
      const ringing = gate(() => runTurn(data.threadId, isLastTry), { first: isNew });
      assign.arrived(data.threadId);
      if (isNew) kept.values().next().value?.();
      if (await ringing.finally(() => assign.resume())) rings.ring(data.threadId);
    },
  });
  const rings = createOwnRings({
    concurrency: handler.concurrency,
    onRing: (threadId) => gate(() => runTurn(threadId, false)).finally(() => assign.resume()),
    onFailed(threadId, error) {
      logger.warn({ err: error, threadId }, 'ring failed');
      void doorbell.ring(threadId, handler.workerId); // BullMQ retries it with back-off
    },
  });
  const following = new AbortController();
  followOwnRings({ feed, keys, rings, held: handler.held }, handler.workerId, following.signal).catch(
    (error) => logger.error({ err: error }, 'ring channel lost; doorbells and the sweep still ring'),
  );
  const checkins = consumeQueue(deps, {
    queue: checkinQueue,
    concurrency: 4,
    async process({ data }) {
      const { taskId, noteId, message } = data as CheckinJob;
      await scripts.call(lua.note, { taskId, noteId, type: 'task.checkin', fields: { message } });
    },
  });

  return {
    async drain(limitMs, stop) {
      following.abort();
      const idle = Promise.all([assign.close(), own.close(), checkins.close(), rings.close()]);
      const late = setTimeout(stop, limitMs);
      await Promise.race([idle, after(limitMs + stopGraceMs)]);
      clearTimeout(late);
    },
  };
}

/** How often a slot that is kept free checks whether another tenant still waits, ms. */
const yieldMs = 250;
/** The most such checks. */
const maxYields = 20;
/** Time for a stopped turn to end, ms. */
const stopGraceMs = 8_000;
const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
