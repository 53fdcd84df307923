/**
 * The queue consumers of a worker: `assign`, its own doorbells, its own rings, and check-ins.
 *
 * This folder:
 *   liveness.ts  the worker's liveness key, and when to stop because of it
 *   control.ts   control messages to the worker: cancel, interrupt, drop, drain
 *   workers.ts   what workers report of themselves; drain
 *   sweeper.ts   runs sweep.lua and repair-task.lua periodically
 *   note.lua     script of a check-in
 */
import { toAppError } from '@harness/contracts';
import { type Job, UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { FairShare } from '../fair/fair-share.ts';
import { assignQueue, checkinQueue, type Doorbell, doorbellQueueOf } from '../lease/doorbell.ts';
import type { Lease } from '../lease/lease.ts';
import { createOwnRings, followOwnRings } from '../lease/own-rings.ts';
import type { Hold } from '../lease/turn.ts';
import type { Feed } from '../redis/feed.ts';
import { createGate } from '../redis/gate.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import type { CheckinJob } from '../task/tasks.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['note'] });

/** How a worker handles rings, and how much it can take. */
export interface RingHandler {
  workerId: string;
  /** workerId#incarnation. */
  me(): string;
  /**
   * Runs at most one turn of the thread; resolves with true when there is more to do. Throws only before a
   * prompt is sent: then BullMQ rings again later, unless this was the last try.
   */
  onRing(threadId: string, lastTry: boolean): Promise<boolean>;
  /** Turns that may run at once. */
  concurrency: number;
  /** Turns that could begin now. */
  freeSlots(): number;
  /** Sessions that could start without evicting another thread's warm one. */
  room(): number;
  /** Whether another worker is known to have such room. */
  roomElsewhere(): Promise<boolean>;
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

/**
 * BullMQ's lock on a doorbell job. If the reply to taking a job was lost, no worker processes it, and
 * deduplication suppresses every other doorbell of its thread until the stalled check has seen it twice: lock
 * + 2 checks must stay well below the 20 s of D5. Losing the lock costs only a repeated ring.
 */
const lockDurationMs = 5_000;
const stalledCheckMs = 2_500;

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
  const { redis, keys, lease, doorbell, fair, scripts, feed, logger } = deps;
  const consume = (queue: string, concurrency: number, process: (job: Job) => Promise<void>) => {
    const worker = new Worker(queue, translated(process), {
      connection: redis,
      prefix: keys.bull,
      concurrency,
      lockDuration: lockDurationMs,
      stalledInterval: stalledCheckMs,
      maxStalledCount: 1_000, // a stalled doorbell is always retried
      drainDelay: 5,
      skipVersionCheck: true,
    });
    worker.on('error', (error) => logger.warn({ err: error, queue }, 'queue consumer error'));
    worker.on('failed', (job, error) =>
      logger.warn({ err: error, queue, threadId: job?.data.threadId }, 'ring failed'),
    );
    return worker;
  };

  // Threads claimed here whose own doorbell has not come yet, with the time of the claim: each will need a
  // slot, but a doorbell that was lost must not occupy one forever.
  const claimed = new Map<string, { at: number; hold?: Hold }>();
  /** Slots for which a thread is being chosen. */
  let choosing = 0;
  const full = () => {
    for (const [threadId, { at }] of claimed)
      if (performance.now() - at > claimedMs) claimed.delete(threadId);
    return claimed.size + choosing >= handler.freeSlots();
  };
  let paused = false;
  let asideUntil = 0;
  const stepAside = async () => {
    if (!paused) await assign.pause(true);
    paused = true;
    setTimeout(stepBack, claimedMs).unref(); // the end of a turn resumes sooner
  };
  const stepBack = () => {
    if (!paused || full() || performance.now() < asideUntil) return;
    paused = false;
    assign.resume().catch((error) => logger.error({ err: error }, 'assign consumer could not be resumed'));
  };

  const assign = consume(assignQueue, 4, async ({ data, name }) => {
    if (full()) {
      // A full worker pauses its own consumer, never the queue, so that other workers continue.
      await stepAside();
      return doorbell.ring(data.threadId, undefined, name);
    }
    const passes: number = data.passes ?? 0;
    if (claimed.size >= handler.room() && passes < maxPasses && (await handler.roomElsewhere())) {
      // Taking the thread would evict a warm session, and another worker has room.
      asideUntil = performance.now() + asideMs;
      await stepAside();
      setTimeout(stepBack, asideMs + 1).unref();
      return doorbell.pass(data.threadId, passes + 1);
    }
    choosing++;
    const threadId = await fair.next(data.threadId).finally(() => choosing--);
    if (threadId !== undefined) await take(threadId, name);
  });
  const take = async (threadId: string, label: string) => {
    const at = performance.now();
    claimed.set(threadId, { at });
    const claim = await lease.claim(threadId, handler.me()).catch((error) => {
      claimed.delete(threadId);
      void doorbell.ring(threadId);
      throw error;
    });
    if (claim.outcome === 'mine') {
      claimed.set(threadId, { at, hold: claim.hold });
      return doorbell.ring(threadId, handler.workerId, label);
    }
    claimed.delete(threadId);
    if (claim.outcome === 'owned') await doorbell.ring(threadId, claim.owner, label);
    // `dead`: this worker's liveness key has expired; the sweep rings another worker. `gone`: nothing to do.
  };
  // Both kinds of rings share this gate: as many threads at once as the worker has slots.
  const gate = createGate(handler.concurrency);
  /** Slots that are kept free for a thread that `assign` takes: each ends with the arrival of one. */
  const kept: (() => void)[] = [];
  /**
   * Runs the thread's next turn. If there is more to do here while another tenant waits, the slot stays free until the
   * thread that `assign` takes for it has come.
   */
  const runTurn = async (threadId: string, lastTry: boolean): Promise<boolean> => {
    const more = await handler.onRing(threadId, lastTry);
    if ((more || gate.isWaiting()) && (await fair.othersWait(threadId).catch(() => false))) {
      const arrival = new Promise<void>((resolve) => void kept.push(resolve));
      asideUntil = 0;
      stepBack();
      await Promise.race([arrival, after(yieldMs)]);
    }
    return more;
  };
  const own = consume(
    doorbellQueueOf(handler.workerId),
    2 * handler.concurrency, // the gate limits turns; a thread for a slot that is kept free must not wait behind it
    async ({ data, attemptsMade, opts }) => {
      const isLastTry = attemptsMade + 1 >= (opts.attempts ?? 1);
      const isNew = claimed.has(data.threadId);
      const ringing = gate(() => runTurn(data.threadId, isLastTry), { first: isNew });
      claimed.delete(data.threadId);
      if (isNew) kept.shift()?.();
      if (await ringing.finally(stepBack)) rings.ring(data.threadId);
    },
  );
  const rings = createOwnRings({
    concurrency: handler.concurrency,
    onRing: (threadId) => gate(() => runTurn(threadId, false)).finally(stepBack),
    onFailed(threadId, error) {
      logger.warn({ err: error, threadId }, 'ring failed');
      void doorbell.ring(threadId, handler.workerId); // BullMQ retries it with back-off
    },
  });
  const following = new AbortController();
  followOwnRings({ feed, keys, rings, held: handler.held }, handler.workerId, following.signal).catch(
    (error) => logger.error({ err: error }, 'ring channel lost; doorbells and the sweep still ring'),
  );
  const checkins = consume(checkinQueue, 4, async ({ data }) => {
    const { taskId, noteId, message } = data as CheckinJob;
    await scripts.call(lua.note, { taskId, noteId, type: 'task.checkin', fields: { message } });
  });

  /** Threads claimed a moment ago, whose own doorbell nobody takes any more: other workers may have them. */
  const releaseClaimed = async () => {
    await assign.close();
    const holds = [...claimed.values()].flatMap(({ hold }) => hold ?? []);
    await Promise.all(
      holds.map((hold) =>
        lease.release(hold).catch((error) => {
          logger.warn({ err: error, threadId: hold.threadId }, 'thread not released; the sweep will ring');
        }),
      ),
    );
  };

  return {
    async drain(limitMs, stop) {
      following.abort();
      const idle = Promise.all([releaseClaimed(), own.close(), checkins.close(), rings.close()]);
      const late = setTimeout(stop, limitMs);
      await Promise.race([idle, after(limitMs + stopGraceMs)]);
      clearTimeout(late);
    },
  };
}

/** How often a thread is passed on before a worker without room takes it. */
const maxPasses = 2;
/** How long a worker that passed a thread on pauses its `assign` consumer, ms. */
const asideMs = 150;
/** How long a slot stays free for another tenant, ms. */
const yieldMs = 500;
/** A claimed thread's own doorbell comes within this time, or was lost, ms. */
const claimedMs = 10_000;

/** Time for a stopped turn to end, ms. */
const stopGraceMs = 8_000;
const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());

/** Translates errors for BullMQ: one that a retry cannot resolve becomes UnrecoverableError. */
function translated(process: (job: Job) => Promise<void>) {
  return async (job: Job) => {
    try {
      await process(job);
    } catch (thrown) {
      const error = toAppError(thrown);
      throw error.retry ? error : new UnrecoverableError(`${error.code}: ${error.message}`);
    }
  };
}
