import { once } from 'node:events';
import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createEventStreams } from './event-stream.ts';

test('a client that leaves before its stream has begun takes no place', async () => {
  const streams = createEventStreams({ maxStreamsPerKey: 1 });
  const app = fastify();
  onTestFinished(async () => {
    streams.close();
    await app.close();
  });
  app.decorateRequest('caller', { getter: () => ({ principal: { keyId: 'k', tenant: 't', scopes: [] } }) });
  const arrived = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const subscribe = async ({ take }: { take(events: []): unknown }) => {
    take([]);
    return () => undefined;
  };
  app.get('/late', async (request, reply) => {
    arrived.resolve();
    await once(reply.raw, 'close');
    await streams.send(request, reply, subscribe).finally(sent.resolve);
  });
  app.get('/', (request, reply) => streams.send(request, reply, subscribe));
  const url = await app.listen();
  const leave = new AbortController();
  const left = fetch(`${url}/late`, { signal: leave.signal });
  await arrived.promise;
  leave.abort();
  await expect(left).rejects.toThrow();
  await sent.promise;
  const next = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  expect(next.status).toBe(200);
  await next.body?.cancel();
});
