/**
 * Follows a run through the event log of its thread until it ends.
 *
 * This folder:
 *   accept-message.ts   accepts messages and tasks from callers
 *   thread-invoker.ts   `ctx.invoker` of plugins at a gateway: asks the model through a run
 */
import { AppError, isFinalRunEvent, type Run, type ThreadEvent, toAppError } from '@harness/contracts';
import type { Dispatch, Subscriber } from '@harness/dispatch';

/** A run of a tenant's thread. */
export interface OwnedRun {
  tenant: string;
  run: Run;
}

/** Every method throws `thread_not_found` once the thread is deleted. */
export interface RunFollower {
  /**
   * Passes the run's events to the subscriber: from the run's first event or after an event id, with
   * `stream.replayed` where the stored events end. Ends the subscriber after the run's last event. Returns
   * the function that unsubscribes.
   */
  subscribe(follow: OwnedRun & { after?: string | undefined }, subscriber: Subscriber): Promise<() => void>;
  /** Resolves with the run when it has ended, or in its current state when the signal aborts. */
  untilEnd(follow: OwnedRun & { signal: AbortSignal; onEvent?: (event: ThreadEvent) => void }): Promise<Run>;
}

/** Whether a run has its final status. */
export const isEnded = ({ status }: Run): boolean => status !== 'pending' && status !== 'running';

/** Creates a follower over the dispatch layer. */
export function createRunFollower({ runs, threads, events }: Dispatch): RunFollower {
  const locate = (tenant: string, run: Run) =>
    threads.locate(tenant, run.threadId).catch((error) => {
      if (toAppError(error).code !== 'thread_not_found') throw error;
      throw new AppError(
        'thread_not_found',
        `The thread ${run.threadId} has been deleted, and its runs with it.`,
      );
    });

  /** Where the run's events are, and which of them are its own. */
  const open = async ({ tenant, run, after }: OwnedRun & { after?: string | undefined }) => {
    const { runId } = run;
    const { ownId, thread } = await locate(tenant, run);
    // If the run has ended, `stream.replayed` ends the subscription even when its last event is before the
    // cursor.
    const wasEnded = isEnded(await runs.get(tenant, ownId, runId));
    const start = after === undefined ? { from: await runs.firstEventOf(runId) } : { after };
    const isOwn = (event: ThreadEvent) => event.data.runId === runId;
    const isLast = (event: ThreadEvent) =>
      isOwn(event) ? isFinalRunEvent(event.type) : wasEnded && event.type === 'stream.replayed';
    const isWanted = (event: ThreadEvent) => isOwn(event) || event.type === 'stream.replayed';
    return { scope: { threadId: ownId, shownId: thread.threadId }, start, isLast, isWanted };
  };

  return {
    async subscribe(follow, subscriber) {
      const { scope, start, isLast, isWanted } = await open(follow);
      return events.subscribe(scope, start, {
        take(all) {
          const last = all.findIndex(isLast);
          const known = last === -1 ? all : all.slice(0, last + 1);
          const wanted = known.filter(isWanted);
          const busy = wanted.length > 0 ? subscriber.take(wanted) : undefined;
          if (last !== -1) subscriber.end();
          return busy;
        },
        end: subscriber.end,
      });
    },
    async untilEnd({ tenant, run, signal, onEvent }) {
      const { scope, start, isLast, isWanted } = await open({ tenant, run });
      await events.until(scope, start, {
        isLast(event) {
          if (isWanted(event)) onEvent?.(event);
          return isLast(event);
        },
        signal,
      });
      const { ownId } = await locate(tenant, run);
      return runs.get(tenant, ownId, run.runId);
    },
  };
}
