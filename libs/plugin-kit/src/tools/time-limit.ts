import type { MaybePromise } from '../contract/contract.ts';

/** The time limit of a call. */
export interface TimeLimit {
  timeoutMs: number;
  /** Called only when the time has passed. The signal aborts with this error, and the call rejects with it. */
  timeoutError(): Error;
  /** The caller's signal. When it aborts, the call aborts with the same reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs plugin code and stops waiting for it when the time is up. Code that ignores its signal continues to run: its late
 * result is dropped, and its late failure is not an unhandled rejection.
 */
export async function withTimeLimit<T>(
  limit: TimeLimit,
  run: (signal: AbortSignal) => MaybePromise<T>,
): Promise<T> {
  if (limit.signal?.aborted) throw limit.signal.reason;
  const controller = new AbortController();
  const running = run(controller.signal);
  // A synchronous result needs no timer.
  return isPromise(running) ? inTime(limit, controller, running) : running;
}

const isPromise = <T>(value: MaybePromise<T>): value is Promise<T> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function';

function inTime<T>(limit: TimeLimit, controller: AbortController, running: PromiseLike<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = (reason: unknown) => {
      end();
      controller.abort(reason);
      reject(reason);
    };
    const onAbort = () => stop(limit.signal?.reason);
    const timer = setTimeout(() => stop(limit.timeoutError()), limit.timeoutMs);
    const end = () => {
      clearTimeout(timer);
      limit.signal?.removeEventListener('abort', onAbort);
    };
    limit.signal?.addEventListener('abort', onAbort, { once: true });
    // The signal may have aborted while `run` ran synchronously, before this listener.
    if (limit.signal?.aborted) onAbort();
    running.then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}
