/**
 * What a fail-over of Redis took back. Without acks, a replica that lacks the latest writes may be promoted,
 * and only the processes that wrote them know what is missing. So each gateway remembers for a minute which
 * messages it accepted, and checks them when another Redis has taken over.
 */
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { reached } from '../redis/reached.ts';

/** The messages that this process accepted recently. */
export interface Losses {
  /** Records an accepted message (by the thread's own id). */
  accepted(threadId: string, runId: string): void;
  /** Forgets the messages of a thread that was deleted here. */
  deleted(threadId: string): void;
  /**
   * Checks which accepted messages are missing, counts and logs them; resolves with their number. Throws
   * `unavailable`.
   */
  count(): Promise<number>;
}

/** How long a message is remembered, ms; replication is never that late. */
const rememberMs = 60_000;
/** Most messages remembered. */
const most = 20_000;
/** Most run ids in the log line. */
const shown = 20;

/** Remembers messages in this process only; the total is in Redis (`lost`). */
export function createLosses(deps: { redis: Redis; keys: Keys; logger: Log }): Losses {
  const { redis, keys, logger } = deps;
  let latest: { threadId: string; runId: string; at: number }[] = [];
  const forget = () => {
    const since = performance.now() - rememberMs;
    latest = latest.filter(({ at }) => at >= since).slice(-most);
  };
  return {
    accepted(threadId, runId) {
      latest.push({ threadId, runId, at: performance.now() });
      if (latest.length >= 2 * most) forget();
    },
    deleted(threadId) {
      latest = latest.filter((one) => one.threadId !== threadId);
    },
    async count() {
      forget();
      const looked = latest;
      if (looked.length === 0) return 0;
      const pipeline = redis.pipeline();
      for (const { runId } of looked) pipeline.exists(keys.of('run', runId));
      const found = ((await reached(pipeline.exec())) ?? []).map(([, value]) => value === 1);
      const lost = looked.filter((_, i) => found[i] === false);
      latest = latest.filter((one) => !lost.includes(one));
      if (lost.length === 0) return 0;
      await reached(redis.incrby(keys.one('lost'), lost.length));
      const runIds = lost.slice(0, shown).map(({ runId }) => runId);
      logger.error({ lost: lost.length, runIds }, 'redis: a fail-over took accepted messages back');
      return lost.length;
    },
  };
}
