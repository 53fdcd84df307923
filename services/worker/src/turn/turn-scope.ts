import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The turn within which code runs. Hooks run inside it, so that `ctx.invoker` knows the tenant, the task and
 * the slot.
 */
export interface TurnScope {
  tenant: string;
  threadId: string;
  taskId: string | undefined;
  signal: AbortSignal;
}

/** Carries the scope through asynchronous calls. */
export const turnScope = new AsyncLocalStorage<TurnScope>();
