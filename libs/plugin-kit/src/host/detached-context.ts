/** A plugin context without a host, for tests and for tools that run without the fleet. */
import { AppError } from '@harness/contracts';
import type { PluginContext, PluginLogger } from '../contract/contract.ts';

const silent = () => {};
/** A logger that drops every line. */
export const silentLogger: PluginLogger = { debug: silent, info: silent, warn: silent, error: silent };

/**
 * Creates a context whose store is a map in memory and whose broadcasts and notifications do nothing. Everything that
 * needs the fleet rejects with `unavailable`. `parts` replaces members, e.g. to observe them in a test.
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
    tasks: { create: refuse, get: refuse, wait: refuse, watch: refuse, checkin: refuse },
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
