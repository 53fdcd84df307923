import { once } from 'node:events';
import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createSlots } from '../../limits/slots.ts';
import { createTenantLimits } from '../../limits/tenant-limits.ts';
import { createEventStreams } from './event-stream.ts';

type Subscribe = Parameters<ReturnType<typeof createEventStreams>['send']>[2];

const limits = createTenantLimits(() => ({ defaults: { streams: 1 }, tenants: {} }));

/** A server on which a key may have one open stream. */
function openServer(subscribe: Subscribe) {
  const streams = createEventStreams({ slots: createSlots({ limits, name: 'streams', most: 1 }) });
  const app = fastify();
  onTestFinished(async () => {
    streams.close();
    await app.close();
  });
  app.decorateRequest('caller', { getter: () => ({ principal: { keyId: 'k', tenant: 't', scopes: [] } }) });
  app.get('/', (request, reply) => streams.send(request, reply, subscribe));
  return { app, streams };
}

test('a client that disconnects before its stream has begun takes no slot', async () => {
  const subscribe: Subscribe = async ({ take }) => {
    take([]);
    return () => undefined;
  };
  const { app, streams } = openServer(subscribe);
  const arrived = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  app.get('/late', async (request, reply) => {
    arrived.resolve();
    await once(reply.raw, 'close');
    await streams.send(request, reply, subscribe).finally(sent.resolve);
  });
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

test('a stream that ends before its first event is empty', async () => {
  const { app } = openServer(async ({ end }) => {
    end();
    return () => undefined;
  });
  const response = await fetch(await app.listen(), { signal: AbortSignal.timeout(10_000) });
  expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    '',
  ]);
});
