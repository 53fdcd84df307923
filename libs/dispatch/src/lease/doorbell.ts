import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';

/** Name of the queue of one worker. */
export const doorbellQueueOf = (workerId: string) => `w.${workerId}`;
export const assignQueue = 'assign';
export const checkinQueue = 'checkin';

/** Queue objects kept at once, one per worker rung lately. */
const maxQueues = 500;

/** How long a passed-on ring waits, ms: long enough for the passer to step aside. */
const passDelayMs = 100;

export interface Doorbell {
  /**
   * Wakes the worker that owns the thread, or any free one. A doorbell may be lost or doubled without harm: the
   * mailbox is the truth and the sweep rings again. So this never throws.
   */
  ring(threadId: string, owner?: string | undefined, label?: string): Promise<void>;
  /** Leaves an unowned thread to another worker: `assign` rings again shortly, saying how often it was passed on. */
  pass(threadId: string, passes: number): Promise<void>;
  /** Removes the queue of a dead worker. */
  remove(workerId: string): Promise<void>;
  close(): Promise<void>;
}

export function createDoorbell(deps: { redis: Redis; keys: Keys; logger: Log }): Doorbell {
  const queues = new Map<string, Queue>();
  const queueOf = (name: string): Queue => {
    const known = queues.get(name);
    if (known) return known;
    const queue = new Queue(name, { connection: deps.redis, prefix: deps.keys.bull, skipMetasUpdate: true });
    queue.on('error', (error) => deps.logger.debug({ err: error, queue: name }, 'doorbell: queue trouble'));
    queues.set(name, queue);
    const oldest = queues.size > maxQueues ? queues.keys().next().value : undefined;
    if (oldest) {
      void queues.get(oldest)?.close();
      queues.delete(oldest);
    }
    return queue;
  };
  return {
    async ring(threadId, owner, label = 'message') {
      const options = {
        deduplication: { id: threadId, keepLastIfActive: true },
        removeOnComplete: true,
        removeOnFail: { count: 100 },
        // Covers failures before the prompt is sent; a turn that began is never repeated by BullMQ.
        attempts: 3,
        backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
      };
      try {
        await queueOf(owner ? doorbellQueueOf(owner) : assignQueue).add(label, { threadId }, options);
      } catch (error) {
        deps.logger.warn({ err: error, threadId }, 'doorbell: not rung, the sweep will');
      }
    },
    async pass(threadId, passes) {
      await queueOf(assignQueue).add(
        'passed',
        { threadId, passes },
        { delay: passDelayMs, removeOnComplete: true, removeOnFail: true },
      );
    },
    async remove(workerId) {
      const name = doorbellQueueOf(workerId);
      await queueOf(name).obliterate({ force: true });
      await queues.get(name)?.close();
      queues.delete(name);
    },
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
    },
  };
}
