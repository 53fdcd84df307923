/**
 * What a fail-over of Redis took back. Without acks a replica may be promoted that has not everything; nobody but those
 * who wrote it knows what is missing. So each gateway remembers for a minute what it accepted, and looks for it when
 * Redis has become another.
 */
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { reached } from '../redis/reached.ts';

/** Messages that this process accepted lately, to find those that a fail-over took back. */
export interface Losses {
  /** A message was accepted on this thread (by the thread's own id). */
  accepted(threadId: string, runId: string): void;
  /** The thread was deleted here, and its messages with it. */
  deleted(threadId: string): void;
  /** Looks for what was accepted, counts and logs what is gone; resolves with the number of messages. */
  count(): Promise<number>;
}

/** Replication is never that late, ms. */
const rememberMs = 60_000;
/** Messages that are remembered. */
const most = 20_000;
/** Run ids in the log line. */
const shown = 20;

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
