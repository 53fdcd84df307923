import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { FairShare } from '../fair/fair-share.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';

/** Name of the BullMQ queue of one worker. */
export const doorbellQueueOf = (workerId: string) => `w.${workerId}`;
/** The queue of doorbells for unowned threads; every worker consumes it. */
export const assignQueue = 'assign';
/** The queue of check-ins (progress of tasks); every worker consumes it. */
export const checkinQueue = 'checkin';

/** Queue objects kept at once, one per recently rung worker. */
const maxQueues = 500;

/** Delay of a passed-on doorbell, ms: long enough for the passing worker to pause its consumer. */
const passDelayMs = 100;

/** Rings threads through BullMQ. */
export interface Doorbell {
  /**
   * Wakes the thread's owner, or any free worker if there is none. `label`: the job's name. Never throws: a
   * doorbell may be lost or duplicated without harm, since the mailbox is the source of truth and the sweep
   * rings again.
   */
  ring(threadId: string, owner?: string | undefined, label?: string): Promise<void>;
  /**
   * Passes an unowned thread to another worker: rings `assign` again after a short delay. `passes`: how often
   * it was passed on.
   */
  pass(threadId: string, passes: number): Promise<void>;
  /** Removes the queue of a dead worker. */
  remove(workerId: string): Promise<void>;
  close(): Promise<void>;
}

/** Queues are opened at their first use. */
export function createDoorbell(deps: { redis: Redis; keys: Keys; fair: FairShare; logger: Log }): Doorbell {
  const queues = new Map<string, Queue>();
  const queueOf = (name: string): Queue => {
    const known = queues.get(name);
    if (known) return known;
    const queue = new Queue(name, { connection: deps.redis, prefix: deps.keys.bull, skipMetasUpdate: true });
    queue.on('error', (error) => deps.logger.debug({ err: error, queue: name }, 'doorbell: queue error'));
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
        // Retries failures before the prompt is sent; BullMQ never repeats a turn that has begun.
        attempts: 3,
        backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
      };
      try {
        if (!owner) await deps.fair.want(threadId);
        await queueOf(owner ? doorbellQueueOf(owner) : assignQueue).add(label, { threadId }, options);
      } catch (error) {
        deps.logger.warn({ err: error, threadId }, 'doorbell: ringing failed; the sweep will ring');
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
