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

/** Whose store: a plugin's for one tenant, or without one the plugin's for all. */
export interface StoreOwner {
  plugin: string;
  tenant: string | undefined;
}

/** The tenant whose store has the name that earlier releases gave to the store of all. */
const firstTenant = 'default';

const hashOf = (keys: Keys, { plugin, tenant }: StoreOwner): string => {
  if (tenant === undefined) return keys.of('global', plugin);
  return keys.of('store', tenant === firstTenant ? plugin : `${tenant}/${plugin}`);
};

/** Opens a store. */
export function createPluginStore(deps: { redis: Redis; keys: Keys }, owner: StoreOwner): PluginStore {
  const hash = hashOf(deps.keys, owner);
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
