import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import type { Replicas } from './replicas.ts';

/** The disabled plugins by name: for the whole fleet, and for single tenants. */
export interface DisabledPlugins {
  all: string[];
  tenants: Record<string, string[]>;
}

/** The plugins that administrators have disabled. Every method throws `unavailable` when Redis does not answer. */
export interface PluginStates {
  disabled(): Promise<DisabledPlugins>;
  /** Disables or enables a plugin for one tenant, or without one for all, and notifies every process. */
  set(state: { plugin: string; enabled: boolean; tenant?: string | undefined }): Promise<void>;
}

/** `replicas` notifies the processes. Entries of the set are `<plugin>`, or `<tenant>/<plugin>`. */
export function createPluginStates(deps: { redis: Redis; keys: Keys; replicas: Replicas }): PluginStates {
  const { redis, keys, replicas } = deps;
  const set = keys.one('plugins:off');
  return {
    async disabled() {
      const disabled: DisabledPlugins = { all: [], tenants: {} };
      for (const entry of (await reached(redis.smembers(set))).sort()) {
        const [tenant, plugin] = entry.split('/');
        if (plugin === undefined) disabled.all.push(entry);
        else disabled.tenants[tenant as string] = [...(disabled.tenants[tenant as string] ?? []), plugin];
      }
      return disabled;
    },
    async set({ plugin, enabled, tenant }) {
      const entry = tenant === undefined ? plugin : `${tenant}/${plugin}`;
      await reached(enabled ? redis.srem(set, entry) : redis.sadd(set, entry));
      await replicas.broadcast({ kind: 'plugins_changed' });
    },
  };
}
