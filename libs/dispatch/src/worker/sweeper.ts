import { newRunId } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Doorbell } from '../lease/doorbell.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['repair-task'], unconfirmed: ['sweep'] });

/** Grace times of the sweep. */
export interface SweepOptions {
  /** Mail older than this is rung again, ms. */
  graceMs: number;
  /** The same for a thread with a live owner, ms. */
  busyGraceMs: number;
  /** A working task without a change for this long is checked, ms. */
  taskGraceMs: number;
}

/** The grace times of a fleet. */
export const defaultSweep: SweepOptions = { graceMs: 1_500, busyGraceMs: 5_000, taskGraceMs: 30_000 };

/** The running sweep. */
export interface Sweeper {
  /** Sweeps now, for tests. Throws `unavailable`. */
  sweep(): Promise<void>;
  close(): void;
}

interface Found {
  ring: { threadId: string; owner?: string }[];
  tasks: string[];
  dead: string[];
}

/** Step 8, in every worker, every 1-2 s: continues whatever a fault left behind (D5). */
export function startSweeper(
  deps: { redis: Redis; keys: Keys; scripts: Scripts; doorbell: Doorbell; logger: Log },
  options: SweepOptions = defaultSweep,
): Sweeper {
  const { redis, keys, scripts, doorbell, logger } = deps;
  const sweep = async () => {
    const found = await scripts.call<Found>(lua.sweep, { ...options, count: 200 });
    await Promise.all(listOf(found.ring).map(({ threadId, owner }) => doorbell.ring(threadId, owner)));
    for (const taskId of listOf(found.tasks)) {
      const answer = await scripts.call<{ threadId?: string; owner?: string }>(lua['repair-task'], {
        taskId,
        runId: newRunId(),
      });
      if (answer.threadId) await doorbell.ring(answer.threadId, answer.owner);
    }
    for (const workerId of listOf(found.dead)) {
      await doorbell.remove(workerId);
      await redis.del(keys.of('drain', workerId));
      await redis.srem(keys.one('workers'), workerId);
      logger.info({ workerId }, 'sweep: removed a dead worker');
    }
  };
  let timer: NodeJS.Timeout;
  const later = () => {
    timer = setTimeout(
      () => {
        sweep()
          .catch((error) => logger.warn({ err: error }, 'sweep failed'))
          .finally(later);
      },
      1000 + Math.random() * 1000,
    );
  };
  later();
  return { sweep, close: () => clearTimeout(timer) };
}
