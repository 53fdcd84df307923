import type { Sender } from '@harness/dispatch';
import type { Caller } from '../http/credentials/authenticate.ts';

/** The tools that agents may use for the caller; undefined = all. Without the scope `tools` they may use none. */
export const agentToolsOf = ({ principal, tools }: Caller): readonly string[] | undefined =>
  principal.scopes.includes('tools') ? tools : [];

/** The caller as the sender of a message, or the creator of a thread or task. */
export const senderOf = (caller: Caller): Sender => ({
  keyId: caller.principal.keyId,
  scopes: caller.principal.scopes,
  tools: agentToolsOf(caller),
  rightsUntil: Number.isFinite(caller.goodUntil) ? caller.goodUntil : undefined,
});
