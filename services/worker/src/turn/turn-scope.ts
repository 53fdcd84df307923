import { AsyncLocalStorage } from 'node:async_hooks';

/** The turn in whose slot code runs: hooks are called inside it, so `ctx.invoker` knows whose slot it uses. */
export interface TurnScope {
  tenant: string;
  threadId: string;
  taskId: string | undefined;
  signal: AbortSignal;
}

export const turnScope = new AsyncLocalStorage<TurnScope>();
