import { toAppError } from '@harness/contracts';
import { type Job, UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';

/**
 * BullMQ's lock on a doorbell job. If the reply to taking a job was lost, no worker processes it, and
 * deduplication suppresses every other doorbell of its thread until the stalled check has seen it twice: lock
 * + 2 checks must stay well below the 20 s of D5. Losing the lock costs only a repeated ring.
 */
const lockDurationMs = 5_000;
const stalledCheckMs = 2_500;

/** What a consumer does with the jobs of a queue. */
export interface Consumption {
  queue: string;
  /** Jobs at the same time. */
  concurrency: number;
  process(job: Job): Promise<void>;
}

/** Consumes the jobs of a BullMQ queue; failures are logged. */
export function consumeQueue(
  deps: { redis: Redis; keys: Keys; logger: Log },
  { queue, concurrency, process }: Consumption,
): Worker {
  const { redis, keys, logger } = deps;
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
}

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
