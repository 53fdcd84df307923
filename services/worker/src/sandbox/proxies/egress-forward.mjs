/**
 * Runs in a sandbox: programs speak TCP to a proxy, and the way out is a socket.
 *
 *   node egress-forward.mjs <socket> <port>
 */
import { connect, createServer } from 'node:net';

const [, , socketPath, port] = process.argv;

createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
  const proxy = connect({ path: socketPath, allowHalfOpen: true });
  for (const [one, other] of [
    [client, proxy],
    [proxy, client],
  ])
    one.pipe(other).on('error', () => one.destroy());
}).listen(Number(port), '127.0.0.1');
