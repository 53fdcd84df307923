import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { leavingOf, onGone } from './client-disconnect.ts';

/** A request, its response at the server, and the client's way to leave. */
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

test('a client that leaves is told to those who wait, and to those who ask later', async () => {
  const { response, leave } = await openRequest();
  const before = leavingOf(response);
  leave();
  await once(before, 'abort');
  expect(leavingOf(response).aborted).toBe(true);
  let told = 0;
  onGone(response, () => told++);
  expect(told).toBe(1);
});

test('an answer that was given is no leaving', async () => {
  const { response } = await openRequest();
  const leaving = leavingOf(response);
  const gone = new Promise<void>((resolve) => {
    onGone(response, resolve);
  });
  response.end('x');
  await gone;
  expect(leaving.aborted).toBe(false);
});
