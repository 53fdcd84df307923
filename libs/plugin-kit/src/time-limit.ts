import type { MaybePromise } from './contract.ts';

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
export function withTimeLimit<T>(
  limit: TimeLimit,
  run: (signal: AbortSignal) => MaybePromise<T>,
): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const stop = (reason: unknown) => {
      controller.abort(reason);
      reject(reason);
    };
    const onAbort = () => stop(limit.signal?.reason);
    if (limit.signal?.aborted) {
      onAbort();
      return;
    }
    limit.signal?.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(() => stop(limit.timeoutError()), limit.timeoutMs);
    const settle = async () => run(controller.signal);
    settle()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
      .finally(() => limit.signal?.removeEventListener('abort', onAbort));
  });
}
