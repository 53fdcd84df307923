import { AsyncLocalStorage } from 'node:async_hooks';
import type { OuterCall } from '@harness/plugins';

/**
 * The caller on whose behalf plugin code runs. Tools and hooks run inside it, so that `ctx.invoker` stays
 * within the tenant.
 */
export interface CallerScope {
  tenant: string;
  /** The principal's key id; set in MCP requests only. */
  keyId?: string;
  /** The current request: nested tool calls have the same caller and the same rights. */
  call?: OuterCall;
}

const traceparentPattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Returns a valid W3C traceparent as sent by a caller; undefined for anything else. */
export const traceparentOf = (sent: unknown): string | undefined =>
  typeof sent === 'string' && traceparentPattern.test(sent) ? sent : undefined;

/**
 * The tools to which the caller's credential is limited; undefined = not limited. Agents that the caller
 * starts get no others.
 */
export const callerTools = async (): Promise<readonly string[] | undefined> =>
  (await callerScope.getStore()?.call?.view())?.tools;

/** Carries the scope through asynchronous calls. */
export const callerScope = new AsyncLocalStorage<CallerScope>();
