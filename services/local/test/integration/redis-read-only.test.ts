import { connectRedis, createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openRedis } from '../open-redis.ts';

test('a connection that waits looks for the primary ever more rarely, and sends its write once there is one', async () => {
  const { redis, url } = await openRedis();
  const admin = connectRedis(url, { logger: createLogger('test', 'silent'), patience: 'fail-fast' });
  onTestFinished(() => admin.disconnect());
  const pausesMs: number[] = [];
  redis.on('reconnecting', (pauseMs: number) => void pausesMs.push(pauseMs));
  await expect.poll(() => admin.replicaof('127.0.0.1', 1).catch(String)).toBe('OK');

  const written = redis.set('key', 'value');
  await expect.poll(() => pausesMs.at(-1), { timeout: 10_000 }).toBe(1_000);
  expect(pausesMs.length).toBeLessThan(10);
  await admin.replicaof('NO', 'ONE');
  expect(await written).toBe('OK');
});
