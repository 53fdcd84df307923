import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';

/** At most this many threads are read; with more waiting, the result is the oldest age among them. */
const maxThreads = 1_000;

/**
 * Age of the oldest message at the head of a mailbox that no turn has begun, ms by Redis's clock; 0 if there
 * is none. Messages behind a turn of their own thread do not count, since no worker could take them. Throws
 * `unavailable`.
 */
export async function oldestWaitingMs({ redis, keys }: { redis: Redis; keys: Keys }): Promise<number> {
  const threadIds = await reached(redis.zrange(keys.one('pend'), '0', String(maxThreads - 1)));
  if (threadIds.length === 0) return 0;
  const heads = await Promise.all(
    threadIds.map((threadId) => reached(redis.xrange(keys.of('mb', threadId), '-', '+', 'COUNT', 1))),
  );
  // An entry is `[id, ['runId', <runId>, …]]`.
  const runIds = heads.flatMap(([head]) => head?.[1][1] ?? []);
  const [[seconds, micros], ...runs] = await Promise.all([
    reached(redis.time()),
    ...runIds.map((runId) => reached(redis.hmget(keys.of('run', runId), 'status', 'createdAt'))),
  ]);
  const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  const ages = runs.flatMap(([status, createdAt]) => (status === 'pending' ? now - Number(createdAt) : []));
  return Math.max(0, ...ages);
}
