import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { oldestWaitingMs } from '../thread/waiting.ts';

/**
 * Counters of the whole fleet. Totals only rise; they are kept in Redis, so they survive the processes that
 * count.
 */
export interface Counters {
  /** Accepted mail that a torn log lost. */
  gaps: number;
  /** System mail to deleted threads. */
  dropped: number;
  /** Processes that ended because of an uncaught error. */
  escapes: number;
  /** Accepted messages that a fail-over of Redis took back. */
  lost: number;
  /** How often another Redis took over, by a fail-over, or Redis was restarted. */
  redisChanges: number;
  /** Threads with uncommitted mail, now. */
  pending: number;
  /** Age of the oldest message that waits for a worker, now, ms; 0 when none waits. */
  oldestWaitingMs: number;
  /** Runs that have their result; path `none`: the run ended without a session. */
  runs: { status: string; path: string; count: number }[];
  /** Results that a commit refused. */
  refused: { repeated: number; stale: number; outOfOrder: number };
}

/** Reads the counters of the fleet. Throws `unavailable` when Redis does not answer. */
export async function countersOf({ redis, keys }: { redis: Redis; keys: Keys }): Promise<Counters> {
  const names = (['gaps', 'dropped', 'escapes', 'lost'] as const).map(keys.one);
  const [[gaps, dropped, escapes, lost], redisChanges, pending, waitingMs, runs, refused] = await Promise.all(
    [
      reached(redis.mget(names)),
      reached(redis.hget(keys.one('server'), 'changes')),
      reached(redis.zcard(keys.one('pend'))),
      oldestWaitingMs({ redis, keys }),
      reached(redis.hgetall(keys.one('runs'))),
      reached(redis.hgetall(keys.one('refused'))),
    ],
  );
  return {
    gaps: Number(gaps),
    dropped: Number(dropped),
    escapes: Number(escapes),
    lost: Number(lost),
    redisChanges: Number(redisChanges),
    pending,
    oldestWaitingMs: waitingMs,
    refused: {
      repeated: Number(refused.repeated ?? 0),
      stale: Number(refused.stale ?? 0),
      outOfOrder: Number(refused.outOfOrder ?? 0),
    },
    runs: Object.entries(runs).map(([kind, count]) => {
      const [status = '', path = ''] = kind.split(':');
      return { status, path, count: Number(count) };
    }),
  };
}
