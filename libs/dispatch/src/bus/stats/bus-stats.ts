/**
 * Counts of the bus: of one tenant, and of all together.
 *
 * This folder:
 *   bus-status.lua script: a tenant's tasks by state, its workers
 *   bus-count.lua  script: the totals of all buses
 */
import type { BusTaskState } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../../redis/keys.ts';
import { reached } from '../../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../../redis/scripts.ts';
import type { Bus } from '../bus-contract.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['bus-status', 'bus-count'] });

/** Creates the counts of the bus: of one tenant, and of all together. */
export function createBusStats(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
}): Pick<Bus, 'stats' | 'totals'> {
  const { redis, keys, scripts } = deps;
  return {
    async stats(tenant) {
      const { counts, workers, polling, oldestQueuedAt } = await scripts.call<{
        counts: Record<BusTaskState, number>;
        workers: number;
        polling: number;
        oldestQueuedAt?: number;
      }>(lua['bus-status'], { tenant });
      return {
        depth: counts.queued,
        assigned: counts.assigned,
        inProgress: counts.in_progress,
        oldestQueuedAt: oldestQueuedAt === undefined ? null : new Date(oldestQueuedAt).toISOString(),
        workersPolling: polling,
        dead: counts.dead,
        blocked: counts.blocked,
        done: counts.done,
        workers,
      };
    },
    async totals() {
      const read = () => reached(redis.hgetall(keys.one('bcounts')));
      let sums = await read();
      if (sums.workers === undefined) {
        await scripts.call(lua['bus-count'], {});
        sums = await read();
      }
      const of = (name: string) => Number(sums[name] ?? 0);
      return {
        queued: of('queued'),
        assigned: of('assigned'),
        inProgress: of('in_progress'),
        blocked: of('blocked'),
        dead: of('dead'),
        workers: of('workers'),
        workersPolling: of('polling'),
      };
    },
  };
}
