import { AsyncLocalStorage } from 'node:async_hooks';

/** For whom code of a plugin runs: tools and hooks are called inside it, so that `ctx.invoker` stays within the tenant. */
export interface CallerScope {
  tenant: string;
}

export const callerScope = new AsyncLocalStorage<CallerScope>();
