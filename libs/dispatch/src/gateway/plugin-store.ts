import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';

/**
 * A plugin's own key-value store: JSON values, kept until deleted. Every method throws `unavailable` when
 * Redis does not answer.
 */
export interface PluginStore {
  /** Undefined for an unknown name. */
  get(name: string): Promise<unknown>;
  /** `undefined` is stored as null. */
  set(name: string, value: unknown): Promise<void>;
  delete(name: string): Promise<void>;
}

/** The store of the plugin of this name. */
export function createPluginStore(deps: { redis: Redis; keys: Keys }, plugin: string): PluginStore {
  const hash = deps.keys.of('store', plugin);
  return {
    async get(name) {
      const text = await reached(deps.redis.hget(hash, name));
      return text === null ? undefined : JSON.parse(text);
    },
    async set(name, value) {
      await reached(deps.redis.hset(hash, name, jsonOf(value ?? null)));
    },
    async delete(name) {
      await reached(deps.redis.hdel(hash, name));
    },
  };
}
