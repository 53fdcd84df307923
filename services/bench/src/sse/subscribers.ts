/**
 * Subscribers of one event stream, in a separate process, so that they do not use the CPU time of the server.
 * They count events without parsing them. Over IPC: a number = notify when each has received that many;
 * `null` = disconnect and exit.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const [url = '', count = '0', ...keys] = process.argv.slice(2);
const { hostname, port, pathname, search } = new URL(url);
const marker = Buffer.from('agent.message');
const greeting = Buffer.from('stream.replayed');

let wanted = Number.POSITIVE_INFINITY;
let complete = 0;
const sockets: Socket[] = [];

for (let n = 0; n < Number(count); n++) sockets.push(await open(keys[n % keys.length] ?? ''));
process.on('message', async (message: number | null) => {
  if (message === null) {
    for (const socket of sockets) socket.destroy();
    process.exit(0);
  }
  wanted = message;
});
process.send?.({ ready: true });

/** Opens a stream; resolves after its replay has ended. */
async function open(key: string): Promise<Socket> {
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(
    `GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\nAccept: text/event-stream\r\n\r\n`,
  );
  const greeted = Promise.withResolvers<void>();
  let seen = 0;
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    if (chunk.includes(greeting)) greeted.resolve();
    // A marker may be cut in two by the end of a chunk.
    const cut = Buffer.concat([rest, chunk.subarray(0, marker.length - 1)]);
    seen += occurrencesIn(cut) + occurrencesIn(chunk);
    rest = Buffer.from(chunk.length < marker.length ? cut : chunk).subarray(1 - marker.length);
    if (seen < wanted) return;
    seen -= wanted;
    complete += 1;
    if (complete < sockets.length) return;
    complete = 0;
    process.send?.('complete');
  });
  await greeted.promise;
  return socket;
}

function occurrencesIn(bytes: Buffer): number {
  let found = 0;
  for (let at = bytes.indexOf(marker); at !== -1; at = bytes.indexOf(marker, at + marker.length)) found++;
  return found;
}
