import type { MaybePromise } from '../contract/contract.ts';

export interface TimeLimit {
  timeoutMs: number;
  /** Made only when the time has passed; the signal aborts with it, and the call rejects with it. */
  timeoutError(): Error;
  /** The caller's own signal: when it aborts, so does the call, with the same reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs foreign code and stops waiting when its time is up. Code that ignores its signal goes on unheard:
 * its late answer is dropped and its late failure is not an unhandled rejection.
 */
export async function withTimeLimit<T>(
  limit: TimeLimit,
  run: (signal: AbortSignal) => MaybePromise<T>,
): Promise<T> {
  if (limit.signal?.aborted) throw limit.signal.reason;
  const controller = new AbortController();
  const running = run(controller.signal);
  // What is there at once needs no clock.
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
    // While the first steps ran, nobody listened yet.
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
