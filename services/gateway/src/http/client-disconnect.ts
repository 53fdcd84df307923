import type { ServerResponse } from 'node:http';

/**
 * Calls `onGone` once, when the response has ended or its client has disconnected; immediately if that has
 * already happened.
 */
export function onDisconnect(response: ServerResponse, onGone: () => void): void {
  if (response.destroyed) onGone();
  else response.on('close', onGone); // emitted once; `once` costs a wrapper
}

/**
 * Returns a signal that aborts when the client disconnects before the response has ended; already aborted if
 * it has.
 */
export function disconnectSignalOf(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  onDisconnect(response, () => {
    if (!response.writableEnded) left.abort(new Error('The client has disconnected.'));
  });
  return left.signal;
}
