import type { Redis } from 'ioredis';
import type { FairShare } from '../fair/fair-share.ts';
import { assignQueue, type Doorbell } from '../lease/doorbell.ts';
import type { Lease } from '../lease/lease.ts';
import type { Hold } from '../lease/turn.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { consumeQueue } from './queue-consumer.ts';

/** What the worker can take. */
export interface Capacity {
  workerId: string;
  /** workerId#incarnation. */
  me(): string;
  /** Turns that could begin now. */
  freeTurnSlots(): number;
  /** Sessions that could start without evicting another thread's warm one. */
  freeSessionSlots(): number;
  /** Whether another worker is known to have a free session slot. */
  slotsElsewhere(): Promise<boolean>;
}

/** Claims unowned threads from the queue `assign`, one for each free slot; the worker then rings itself for each. */
export interface AssignConsumer {
  /** Whether the thread was claimed here and its own doorbell has not arrived yet. */
  isClaimed(threadId: string): boolean;
  /** Whether any such thread is on its way, or is being chosen. */
  isExpecting(): boolean;
  /** Called when a thread's own doorbell has arrived. */
  arrived(threadId: string): void;
  /** Continues after a pause if a slot is free. `atOnce`: even if a thread was just passed to another worker. */
  resume(atOnce?: boolean): void;
  /** Claims no more threads, and releases those whose own doorbell has not arrived. */
  close(): Promise<void>;
}

/** How often a thread is passed on before a worker without a free session slot takes it. */
const maxPasses = 2;
/** How long a worker that passed a thread on pauses, ms. */
const asideMs = 150;
/** A claimed thread's own doorbell comes within this time, or was lost, ms. */
const claimedMs = 10_000;

/** Starts the consumer. */
export function consumeAssign(
  deps: { redis: Redis; keys: Keys; lease: Lease; doorbell: Doorbell; fair: FairShare; logger: Log },
  capacity: Capacity,
): AssignConsumer {
  const { lease, doorbell, fair, logger } = deps;
  // Threads claimed here whose own doorbell has not arrived yet, with the time of the claim: each will need a
  // slot, but a doorbell that was lost must not occupy one forever.
  const claimed = new Map<string, { at: number; hold?: Hold }>();
  /** Slots for which a thread is being chosen. */
  let choosing = 0;
  const full = () => {
    for (const [threadId, { at }] of claimed)
      if (performance.now() - at > claimedMs) claimed.delete(threadId);
    return claimed.size + choosing >= capacity.freeTurnSlots();
  };

  // A full worker pauses its own consumer, never the queue, so that other workers continue.
  let paused = false;
  let asideUntil = 0;
  const pause = async () => {
    if (!paused) await consumer.pause(true);
    paused = true;
    setTimeout(resume, claimedMs).unref(); // the end of a turn resumes sooner
  };
  const resume = () => {
    if (!paused || full() || performance.now() < asideUntil) return;
    paused = false;
    consumer.resume().catch((error) => logger.error({ err: error }, 'assign consumer could not be resumed'));
  };

  const claim = async (threadId: string, label: string) => {
    const at = performance.now();
    claimed.set(threadId, { at });
    const claim = await lease.claim(threadId, capacity.me()).catch((error) => {
      claimed.delete(threadId);
      void doorbell.ring(threadId);
      throw error;
    });
    if (claim.outcome === 'mine') {
      claimed.set(threadId, { at, hold: claim.hold });
      return doorbell.ring(threadId, capacity.workerId, label);
    }
    claimed.delete(threadId);
    if (claim.outcome === 'owned') await doorbell.ring(threadId, claim.owner, label);
    // `dead`: this worker's liveness key has expired; the sweep rings another worker. `gone`: nothing to do.
  };

  /** Chooses the thread for a free slot; undefined if there is none, or if the doorbell was passed on. */
  const choose = async ({ threadId, passes = 0 }: { threadId: string; passes?: number }) => {
    const isFull = claimed.size + choosing > capacity.freeSessionSlots();
    if (isFull && passes < maxPasses && (await capacity.slotsElsewhere())) {
      // Taking a thread would evict a warm session, and another worker has a free slot.
      asideUntil = performance.now() + asideMs;
      await pause();
      setTimeout(resume, asideMs + 1).unref();
      await doorbell.pass(threadId, passes + 1);
      return undefined;
    }
    return fair.next(threadId);
  };

  const consumer = consumeQueue(deps, {
    queue: assignQueue,
    concurrency: 4,
    async process({ data, name }) {
      if (full()) {
        await pause();
        return doorbell.ring(data.threadId, undefined, name);
      }
      choosing++; // without an await since the question whether there is a slot: it is this job's now
      const threadId = await choose(data).finally(() => choosing--);
      if (threadId !== undefined) await claim(threadId, name);
    },
  });

  return {
    isClaimed: (threadId) => claimed.has(threadId),
    isExpecting: () => claimed.size + choosing > 0,
    arrived: (threadId) => void claimed.delete(threadId),
    resume(atOnce = false) {
      if (atOnce) asideUntil = 0;
      resume();
    },
    async close() {
      await consumer.close();
      const holds = [...claimed.values()].flatMap(({ hold }) => hold ?? []);
      await Promise.all(
        holds.map((hold) =>
          lease.release(hold).catch((error) => {
            logger.warn({ err: error, threadId: hold.threadId }, 'thread not released; the sweep will ring');
          }),
        ),
      );
    },
  };
}
