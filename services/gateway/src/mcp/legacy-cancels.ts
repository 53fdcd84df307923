import type { Caller } from '../auth.ts';

/**
 * A client of 2025 cancels by a message of its own, which comes as another request than the call and may meet another
 * gateway: there it is lost, and the call's time limit is what is left. Request ids count from 0 in every client, so
 * only sessions can cancel: a session is one client, where a key may be many, who would cancel one another's calls.
 */
export interface LegacyCancels {
  /** Runs a call with a signal that aborts as well when the caller cancels it by its request id. */
  during<T>(call: CancellableCall, run: (signal: AbortSignal) => Promise<T>): Promise<T>;
  cancel(caller: Caller, requestId: string | number | undefined): void;
}

export interface CancellableCall {
  caller: Caller;
  requestId: string | number;
  signal: AbortSignal;
}

export function createLegacyCancels(): LegacyCancels {
  const running = new Map<string, AbortController>();
  const keyOf = ({ session }: Caller, requestId: string | number | undefined) =>
    session && JSON.stringify([session.threadId, session.epoch, requestId]);
  return {
    async during({ caller, requestId, signal }, run) {
      const key = keyOf(caller, requestId);
      if (key === undefined) return run(signal);
      const controller = new AbortController();
      running.set(key, controller);
      try {
        return await run(AbortSignal.any([signal, controller.signal]));
      } finally {
        if (running.get(key) === controller) running.delete(key);
      }
    },
    cancel(caller, requestId) {
      running.get(keyOf(caller, requestId) ?? '')?.abort(new Error('The caller cancelled the call.'));
    },
  };
}
