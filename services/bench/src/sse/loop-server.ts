/**
 * The raw limits: a bare http server that writes each event to each subscriber, serialized per subscriber
 * (naive) or once into a shared Buffer. No key, no log, no replay.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

const shared = process.argv[2] === 'shared buffer';
const subscribers = new Set<ServerResponse>();
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('event: stream.replayed\ndata: {}\n\n');
  subscribers.add(response);
  response.once('close', () => subscribers.delete(response));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

const id = 'f'.repeat(32);
const eventOf = () => ({
  id: `${Date.now()}-0`,
  type: 'agent.message',
  data: { threadId: `thr_${id}`, at: new Date().toISOString(), runId: `run_${id}`, text: 'a few words' },
});
type Event = ReturnType<typeof eventOf>;
const frameOf = (event: Event) =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event.data)}\n\n`;

process.on('message', async (events: number) => {
  for (let n = 0; n < events; n++) {
    const event = eventOf();
    const frame = shared ? Buffer.from(frameOf(event)) : undefined;
    for (const response of subscribers) response.write(frame ?? frameOf(event));
    await nextTurn();
  }
  process.send?.('emitted');
});
process.send?.({ ready: true, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
