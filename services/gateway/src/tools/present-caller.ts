import { AppError } from '@harness/contracts';
import type { Authority, Dispatch } from '@harness/dispatch';
import type { Caller } from '../http/credentials/authenticate.ts';

/**
 * The caller with its current rights: a session's tools may have been narrowed for the rest of its run. D4:
 * throws `stale_epoch` when the token's epoch no longer holds the thread.
 */
export type PresentCaller = (caller: Caller) => Promise<Caller>;

/** Creates the function. It returns the same object for a run while its tools are unchanged: lists are cached by caller. */
export function createPresentCaller(dispatch: Pick<Dispatch, 'authorityOf'>): PresentCaller {
  const latest = new WeakMap<Caller, Caller>();
  const presented = (caller: Caller, authority: Extract<Authority, { outcome: 'ok' }>): Caller => {
    const known = latest.get(caller);
    if (known?.authority === authority) return known;
    const now = {
      ...caller,
      principal: { ...caller.principal, scopes: sessionScopes(caller, authority.scopes) },
      authority,
      tools: authority.tools ?? caller.tools,
    };
    latest.set(caller, now);
    return now;
  };
  return async (caller) => {
    const { session } = caller;
    if (!session) return caller;
    const { threadId, epoch, owner } = session;
    const authority = await dispatch.authorityOf({ threadId, epoch, owner });
    if (authority.outcome === 'ok') return presented(caller, authority);
    if (authority.outcome === 'idle') return { ...caller, authority };
    throw new AppError(
      'stale_epoch',
      'This session no longer owns its thread: another session has taken over, and continues the work.',
    );
  };
}

/** The scopes of a session: those of its run's sender. Without `tools`, its list of tools is empty. */
const sessionScopes = ({ principal }: Caller, ofRun: readonly string[] | undefined) =>
  ofRun ? principal.scopes.filter((scope) => scope === 'tools' || ofRun.includes(scope)) : principal.scopes;
