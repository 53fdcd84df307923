import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** Requests whose clients wait for `100 Continue` before they send the body. */
const waiting = new WeakSet<IncomingMessage>();

/** Keeps Node from sending `100 Continue` before the request is admitted; `continueBody` sends it. */
export function holdContinue(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request);
    server.emit('request', request, response);
  });
}

/** The request may be served: its client may send the body. Does nothing for clients that do not wait. */
export function continueBody(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.delete(request)) response.writeContinue();
}
