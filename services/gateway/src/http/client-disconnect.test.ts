import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { disconnectSignalOf, onDisconnect } from './client-disconnect.ts';

/** Opens a request; returns its response at the server, and a function that disconnects the client. */
async function openRequest(): Promise<{ response: ServerResponse; leave(): void }> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const sent = request({ port: (server.address() as AddressInfo).port });
  sent.on('error', () => undefined).end();
  onTestFinished(() => void sent.destroy());
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  return { response, leave: () => sent.destroy() };
}

test('a disconnect is reported to listeners from before and from after it', async () => {
  const { response, leave } = await openRequest();
  const before = disconnectSignalOf(response);
  leave();
  await once(before, 'abort');
  expect(disconnectSignalOf(response).aborted).toBe(true);
  let calls = 0;
  onDisconnect(response, () => calls++);
  expect(calls).toBe(1);
});

test('a completed response is not a disconnect', async () => {
  const { response } = await openRequest();
  const leaving = disconnectSignalOf(response);
  const gone = new Promise<void>((resolve) => {
    onDisconnect(response, resolve);
  });
  response.end('x');
  await gone;
  expect(leaving.aborted).toBe(false);
});
