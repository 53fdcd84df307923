import { AppError } from '@harness/contracts';
import type { PluginContext, PluginLogger } from '../contract/contract.ts';

const silent = () => {};
export const silentLogger: PluginLogger = { debug: silent, info: silent, warn: silent, error: silent };

/**
 * A context without a host, for tools that run on their own: the store is a map in memory, broadcasts go nowhere,
 * and whatever needs the fleet rejects with `unavailable`. `parts` replaces what a test wants to see.
 */
export function createDetachedContext(parts: Partial<PluginContext> = {}): PluginContext {
  const values = new Map<string, unknown>();
  const refuse = async (): Promise<never> => {
    throw new AppError('unavailable', 'This context has no host: only its store and logger work.');
  };
  return {
    role: 'gateway',
    logger: silentLogger,
    config: {},
    invoker: { invoke: refuse, prewarm: refuse },
    threads: { get: refuse, history: refuse },
    tasks: { create: refuse, get: refuse, wait: refuse, checkin: refuse },
    bus: {
      submit: refuse,
      register: refuse,
      poll: refuse,
      ack: refuse,
      heartbeat: refuse,
      done: refuse,
      failed: refuse,
      reset: refuse,
      retry: refuse,
      stats: refuse,
      workers: refuse,
    },
    tools: { call: refuse, narrow: async () => undefined },
    store: {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
    },
    broadcast: async () => {},
    notify: { resourceUpdated: async () => {}, listChanged: async () => {} },
    ...parts,
  };
}
