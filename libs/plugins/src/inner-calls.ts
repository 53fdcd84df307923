import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '@harness/contracts';
import { createCounts } from '@harness/runtime';

/** How many tool calls may be within each other. */
const maxDepth = 10;
/** Calls of one plugin to other tools that are in progress for one tenant: fewer than the calls that another plugin accepts. */
const maxInProgress = 200;

/** How many tool calls the current code is within, of all plugins. */
const depth = new AsyncLocalStorage<number>();

/**
 * Bounds the calls of one plugin to other tools, so that tools that call each other end, and one plugin does not take all
 * calls that another one accepts. The function runs a call for a tenant; throws `limit_reached`.
 */
export function createInnerCalls(): <T>(tenant: string, call: () => Promise<T>) => Promise<T> {
  const inProgress = createCounts();
  return async (tenant, call) => {
    const level = (depth.getStore() ?? 0) + 1;
    if (level > maxDepth)
      throw new AppError('limit_reached', `Tools call each other more than ${maxDepth} levels deep.`);
    if (inProgress.of(tenant) >= maxInProgress)
      throw new AppError(
        'limit_reached',
        `This plugin has ${maxInProgress} calls of tools in progress. Wait for one to end, then try again.`,
      );
    inProgress.add(tenant, 1);
    try {
      return await depth.run(level, call);
    } finally {
      inProgress.add(tenant, -1);
    }
  };
}
