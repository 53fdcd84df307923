/** A connection that is cut again while its channels are being subscribed: the feed neither ends the process nor stays without them. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connectRedis, createLogger } from '@harness/runtime';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createFeed } from '../../src/redis/feed.ts';

const logger = createLogger('test', 'silent');

/** A TCP proxy to the Redis of this test run. `cutOn`: the connection is reset when the client sends this word. */
async function openProxy() {
  const url = new URL(inject('redisUrl'));
  const faults = { cutOn: '', cuts: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const redis = url.protocol === 'unix:' ? connect(url.pathname) : connect(Number(url.port), url.hostname);
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        redis.destroy();
      });
    }
    redis.pipe(client);
    client.on('data', (data) => {
      if (faults.cutOn === '' || !data.toString().includes(faults.cutOn)) return void redis.write(data);
      faults.cuts += 1;
      client.resetAndDestroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, faults, cut };
}

test('a feed subscribes again when the connection is cut while it does', async () => {
  const { url, faults, cut } = await openProxy();
  const redis = connectRedis(url, { logger, patience: 'fail-fast' });
  const feed = createFeed({ redis, logger });
  await once(redis, 'ready');
  const publisher = connectRedis(inject('redisUrl'), { logger, patience: 'wait' });
  onTestFinished(async () => {
    publisher.disconnect();
    await feed.close();
  });
  const channel = `feed:${randomUUID()}`;
  const listener = await feed.listen([channel], new AbortController().signal);
  const messages = listener[Symbol.asyncIterator]();

  faults.cutOn = 'subscribe';
  cut();
  await expect.poll(() => faults.cuts).toBeGreaterThan(1);
  faults.cutOn = '';
  expect(await messages.next()).toEqual({ done: false, value: '' });
  expect(await publisher.publish(channel, 'after')).toBe(1);
  expect(await messages.next()).toEqual({ done: false, value: 'after' });
});
