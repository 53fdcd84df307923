import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedRedis } from '../src/embedded-redis.ts';

declare module 'vitest' {
  interface ProvidedContext {
    redisUrl: string;
  }
}

/** One real Redis for all test files; each file keeps to a key tag of its own. */
export default async function setup(project: TestProject) {
  const dir = await mkdtemp(join(tmpdir(), 'harness-test-redis-'));
  const redis = await startEmbeddedRedis(dir);
  project.provide('redisUrl', redis.url);
  return async () => {
    await redis.close();
    await rm(dir, { recursive: true, force: true });
  };
}
