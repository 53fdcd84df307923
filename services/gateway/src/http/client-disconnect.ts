import type { ServerResponse } from 'node:http';

/**
 * Calls `isGone` once, when the response has ended or its client has disconnected; at once if that has
 * already happened.
 */
export function onGone(response: ServerResponse, isGone: () => void): void {
  if (response.destroyed) isGone();
  else response.once('close', isGone);
}

/**
 * Returns a signal that aborts when the client disconnects before the response has ended; already aborted if
 * it has.
 */
export function leavingOf(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  onGone(response, () => {
    if (!response.writableEnded) left.abort(new Error('The client has disconnected.'));
  });
  return left.signal;
}
