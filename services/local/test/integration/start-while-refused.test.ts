/** The real gateway and worker, started while Redis refuses writes. */
import { fileURLToPath } from 'node:url';
import { freePort, startChild } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openRedis } from '../open-redis.ts';

test('a gateway and a worker that start while Redis refuses writes wait until it takes them', async () => {
  const { redis, url: redisUrl, dir } = await openRedis();
  await redis.config('SET', 'maxmemory', '1');

  const port = String(await freePort());
  const start = (name: string, env: Record<string, string>) =>
    startChild<{ url: string }>({
      name,
      main: fileURLToPath(new URL(`../../../${name}/src/main.ts`, import.meta.url)),
      env: { PATH: process.env.PATH ?? '', HOME: dir, LOG_LEVEL: 'silent', REDIS_URL: redisUrl, ...env },
    });
  const starts = [start('gateway', { PORT: '0' }), start('worker', { HARNESS_WORKER_PORT: port })];
  const statusOf = async (url: string) => {
    const response = await fetch(`${url}/readyz`);
    return { status: response.status, body: await response.json() };
  };
  await expect
    .poll(() => statusOf(`http://127.0.0.1:${port}`))
    .toMatchObject({ status: 503, body: { missing: ['redis'], error: { details: { redis: 'OOM' } } } });

  await redis.config('SET', 'maxmemory', '0');
  for (const child of await Promise.all(starts)) {
    onTestFinished(() => child.end(20_000));
    await expect.poll(() => statusOf(child.ready.url)).toMatchObject({ status: 200 });
  }
});
