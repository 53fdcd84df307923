import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createBoundedFetch } from './bounded-fetch.ts';

const lines = 24;

/** Reads a stream that repeats `line`, 1 MB, 24 times; resolves with the bytes that arrived. */
async function readEvents(line: string): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (left: number) => {
      if (left > 0) response.write(line, () => send(left - 1));
      else response.end();
    };
    send(lines);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const { origin } = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const response = await createBoundedFetch(new Set([origin]))(origin);
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) bytes += chunk.length;
  return bytes;
}

const text = `data: ${'x'.repeat(1024 * 1024)}`;

test.each(['\n\n', '\r\n\r\n', '\r\r'])('a stream may be longer than one event may be (%j)', async (end) => {
  const event = `${text}${end}`;
  expect(await readEvents(event)).toBe(event.length * lines);
});

test.each(['\n', '\r\n', '\r'])(
  'an event without an end is cut off, however its lines end (%j)',
  async (end) => {
    await expect(readEvents(`${text}${end}`)).rejects.toThrow('more than 16777216 bytes');
  },
);
