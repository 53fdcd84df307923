import { AppError, defaultThreadIdOf, type ThreadTokenClaims } from '@harness/contracts';
import type { Dispatch } from '@harness/dispatch';
import { type Caller, requireScope } from '../http/credentials/authenticate.ts';

/** The thread, and of a session also the task, the run and its attempt, that a call comes from. */
export interface CallSource {
  threadId: string;
  taskId?: string | undefined;
  runId?: string;
  attempt?: number;
}

/** Where calls come from. */
export interface CallSources {
  /**
   * The source of a tool call. `named`: the thread that the caller names; a session is always on its own. Throws `stale_epoch`
   * for a session without a run, `forbidden` and `thread_not_found`.
   */
  ofCall(caller: Caller, named: string | undefined): CallSource | Promise<CallSource>;
  /** The source of what is no tool call: reading a resource, getting a prompt. */
  ofRead(caller: Caller): CallSource;
}

/** Creates the sources of one gateway. `naming`: the secret that default threads are named with. */
export function createCallSources(dispatch: Pick<Dispatch, 'threads'>, naming: string): CallSources {
  const defaultThreads = new WeakMap<Caller, string>();
  const defaultThreadOf = (caller: Caller): string => {
    const known = defaultThreads.get(caller);
    if (known !== undefined) return known;
    const threadId = defaultThreadIdOf(naming, caller.principal);
    defaultThreads.set(caller, threadId);
    return threadId;
  };
  const ofRead: CallSources['ofRead'] = (caller) => {
    const { session, authority } = caller;
    if (!session) return { threadId: defaultThreadOf(caller) };
    const run = authority?.outcome === 'ok' ? { runId: authority.runId, attempt: authority.attempt } : {};
    return { threadId: shownIdOf(session), taskId: session.taskId, ...run };
  };
  const onThread = async (caller: Caller, threadId: string): Promise<CallSource> => {
    requireScope(caller, 'threads');
    await dispatch.threads.get(caller.principal.tenant, threadId);
    return { threadId };
  };
  return {
    ofRead,
    ofCall(caller, named) {
      const { session, authority } = caller;
      if (session && authority?.outcome !== 'ok')
        throw new AppError(
          'stale_epoch',
          'No run is in progress on this thread, so its session may not call tools.',
        );
      return session || named === undefined ? ofRead(caller) : onThread(caller, named);
    },
  };
}

/** The id by which tools know the session's thread. */
const shownIdOf = ({ threadId, alias }: ThreadTokenClaims) => alias ?? threadId;
