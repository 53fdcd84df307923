import { AsyncLocalStorage } from 'node:async_hooks';
import type { Sender } from '@harness/dispatch';
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

/** The caller of the current request as a sender: agents that it starts have at most its rights. */
export async function currentSender(): Promise<Sender> {
  const { call } = callerScope.getStore() ?? {};
  const { tools, scopes } = (await call?.view()) ?? {};
  const mayCallTools = scopes?.includes('tools') ?? true;
  return { keyId: call?.meta.principal?.keyId ?? 'plugin', scopes, tools: mayCallTools ? tools : [] };
}

/** Carries the scope through asynchronous calls. */
export const callerScope = new AsyncLocalStorage<CallerScope>();
