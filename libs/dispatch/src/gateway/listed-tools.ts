import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';

/** The number of tools that gateways offer to sessions; workers decide by it how sessions load them. */
export interface ListedTools {
  /** Called by gateways when it changes. Throws `unavailable`. */
  set(count: number): Promise<void>;
  /** 0 until a gateway has published it. Throws `unavailable`. */
  get(): Promise<number>;
}

/** Creates the access to the number, which is one key of Redis. */
export function createListedTools({ redis, keys }: { redis: Redis; keys: Keys }): ListedTools {
  const key = keys.one('tools:listed');
  return {
    set: async (count) => void (await reached(redis.set(key, count))),
    get: async () => Number(await reached(redis.get(key))) || 0,
  };
}
