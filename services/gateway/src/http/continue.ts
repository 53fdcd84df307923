import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** Requests whose clients wait for `100 Continue` before they send the body. */
const waiting = new WeakSet<IncomingMessage>();

/** Clients that wait for `100 Continue` get it from `continueBody`, not from Node before anything is known about them. */
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
