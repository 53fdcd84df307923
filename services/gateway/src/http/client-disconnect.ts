import type { ServerResponse } from 'node:http';

/** Calls back once, when the response is over or its client has left: at once where that has been already. */
export function onGone(response: ServerResponse, isGone: () => void): void {
  if (response.destroyed) isGone();
  else response.once('close', isGone);
}

/** Aborts when the client leaves before it has its answer, also before anybody asked. */
export function leavingOf(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  onGone(response, () => {
    if (!response.writableEnded) left.abort(new Error('The client left.'));
  });
  return left.signal;
}
