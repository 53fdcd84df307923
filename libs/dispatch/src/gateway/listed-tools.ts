import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';

/** How many tools the fleet offers to sessions, which only gateways know: by it workers decide how sessions load them. */
export interface ListedTools {
  /** Called by gateways when it changes. Throws `unavailable`. */
  set(count: number): Promise<void>;
  /** 0 before a gateway has told. Throws `unavailable`. */
  get(): Promise<number>;
}

/** Creates it on one key. */
export function createListedTools({ redis, keys }: { redis: Redis; keys: Keys }): ListedTools {
  const key = keys.one('tools:listed');
  return {
    set: async (count) => void (await reached(redis.set(key, count))),
    get: async () => Number(await reached(redis.get(key))) || 0,
  };
}
