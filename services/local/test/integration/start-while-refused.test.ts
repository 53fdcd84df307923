/** The real gateway and worker, started while Redis refuses writes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectRedis, createLogger, freePort, startChild, startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';

test('a gateway and a worker that start while Redis refuses writes wait until it takes them', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'harness-refused-'));
  const server = await startEmbeddedRedis(dir);
  const redis = connectRedis(server.url, { logger: createLogger('test', 'silent'), patience: 'wait' });
  onTestFinished(async () => {
    redis.disconnect();
    await server.close();
    await rm(dir, { recursive: true, force: true });
  });
  await redis.config('SET', 'maxmemory', '1');

  const port = String(await freePort());
  const start = (name: string, env: Record<string, string>) =>
    startChild<{ url: string }>({
      name,
      main: fileURLToPath(new URL(`../../../${name}/src/main.ts`, import.meta.url)),
      env: { PATH: process.env.PATH ?? '', HOME: dir, LOG_LEVEL: 'silent', REDIS_URL: server.url, ...env },
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
