import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectRedis, createLogger, startEmbeddedRedis } from '@harness/runtime';
import { onTestFinished } from 'vitest';
import { useDump } from './data/use-dump.ts';

/** A private Redis, for one test; with `dump` on that data. `dir`: its folder, which is deleted at the end. */
export async function openRedis(dump?: string) {
  const dir = await mkdtemp(join(tmpdir(), 'harness-redis-'));
  if (dump) await useDump(dir, dump);
  const server = await startEmbeddedRedis(dir);
  const redis = connectRedis(server.url, { logger: createLogger('test', 'silent'), patience: 'wait' });
  onTestFinished(async () => {
    redis.disconnect();
    await server.close();
    await rm(dir, { recursive: true, force: true });
  });
  return { redis, url: server.url, dir };
}
