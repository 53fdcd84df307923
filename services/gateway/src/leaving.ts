import type { ServerResponse } from 'node:http';

/** Aborts when the client leaves before it has its answer. */
export function leavingOf(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  response.once('close', () => {
    if (!response.writableEnded) left.abort(new Error('The client left.'));
  });
  return left.signal;
}
