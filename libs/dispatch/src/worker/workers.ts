import { AppError, jsonOf, type WorkerInfo } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';

/** What a worker reports of itself with each heartbeat. */
export type WorkerReport = Omit<WorkerInfo, 'workerId'>;

/** The workers of the fleet. */
export interface Workers {
  /** The live workers that have reported, by id. */
  list(): Promise<WorkerInfo[]>;
  /** Stores the worker's report; it expires after `ttlMs`. */
  report(workerId: string, report: WorkerReport, ttlMs: number): Promise<void>;
  /** Asks a worker to finish its turns and exit. Throws not_found. */
  drain(workerId: string): Promise<void>;
}

/** How long the request is kept, ms: a worker that stays disconnected longer is dead. */
const drainKeptMs = 3_600_000;

/** `drain` both stores its request and publishes it. */
export function createWorkers({ redis, keys }: { redis: Redis; keys: Keys }): Workers {
  const find = async (workerId: string): Promise<WorkerInfo | undefined> => {
    const [alive, text] = await reached(redis.mget(keys.of('w', workerId), keys.of('wi', workerId)));
    return alive && text ? { workerId, ...(JSON.parse(text) as WorkerReport) } : undefined;
  };
  return {
    async list() {
      const ids = await reached(redis.smembers(keys.one('workers')));
      const found = await Promise.all(ids.toSorted().map(find));
      return found.filter((worker) => worker !== undefined);
    },
    async report(workerId, report, ttlMs) {
      await redis.set(keys.of('wi', workerId), jsonOf(report), 'PX', ttlMs);
    },
    async drain(workerId) {
      if (!(await find(workerId)))
        throw new AppError(
          'not_found',
          `There is no live worker ${workerId}. GET /v1/workers lists the workers.`,
        );
      // Stored as well, so that a worker that is disconnected now reads it when it reconnects.
      await reached(redis.set(keys.of('drain', workerId), '1', 'PX', drainKeptMs));
      await reached(redis.publish(keys.of('ctl', workerId), jsonOf({ action: 'drain' })));
    },
  };
}
