import { AsyncLocalStorage } from 'node:async_hooks';
import type { OuterCall } from '@harness/plugins';

/** For whom code of a plugin runs: tools and hooks are called inside it, so that `ctx.invoker` stays within the tenant. */
export interface CallerScope {
  tenant: string;
  /** Of the principal, in a request of MCP. */
  keyId?: string;
  /** The request under way: what its code calls in turn comes from the same caller, with the same rights. */
  call?: OuterCall;
}

const traceparentPattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** W3C trace context as a caller sent it; undefined for anything else. */
export const traceparentOf = (sent: unknown): string | undefined =>
  typeof sent === 'string' && traceparentPattern.test(sent) ? sent : undefined;

/** The only tools of whoever called, where his key names some: agents that he sets to work have no others. */
export const callerTools = async (): Promise<readonly string[] | undefined> =>
  (await callerScope.getStore()?.call?.view())?.tools;

export const callerScope = new AsyncLocalStorage<CallerScope>();
