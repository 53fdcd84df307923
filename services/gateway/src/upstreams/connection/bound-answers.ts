import type { Transport } from '@modelcontextprotocol/client';

/** Answers that a server has asked for and not yet taken; more are never open at a server that works. */
const maxWaiting = 200;

/**
 * Bounds the answers that wait for their server: each one holds memory, and over HTTP a connection. `onExceeded` is called for a server
 * that asks (`ping` is enough) and does not read.
 */
export function boundAnswers(transport: Transport, onExceeded: (reason: Error) => void): void {
  const send = transport.send.bind(transport);
  let waiting = 0;
  transport.send = async (message, options) => {
    if ('method' in message) return send(message, options);
    if (waiting >= maxWaiting)
      return onExceeded(
        new Error(`it does not read the answers to ${maxWaiting} requests of its own, and was disconnected`),
      );
    waiting += 1;
    await send(message, options).finally(() => {
      waiting -= 1;
    });
  };
}
