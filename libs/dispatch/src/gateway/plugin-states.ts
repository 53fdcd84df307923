import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import type { Replicas } from './replicas.ts';

/** The plugins that an administrator has disabled, for the whole fleet. Throws `unavailable`. */
export interface PluginStates {
  /** Names of the disabled plugins. */
  disabled(): Promise<string[]>;
  /** Disables or enables a plugin and notifies every gateway. */
  set(plugin: string, enabled: boolean): Promise<void>;
}

/** `replicas` notifies the gateways. */
export function createPluginStates(deps: { redis: Redis; keys: Keys; replicas: Replicas }): PluginStates {
  const { redis, keys, replicas } = deps;
  const set = keys.one('plugins:off');
  return {
    disabled: () => reached(redis.smembers(set)),
    async set(plugin, enabled) {
      await reached(enabled ? redis.srem(set, plugin) : redis.sadd(set, plugin));
      await replicas.broadcast({ kind: 'plugins_changed' });
    },
  };
}
