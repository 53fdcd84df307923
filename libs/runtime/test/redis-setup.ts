import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GenericContainer, getContainerRuntimeClient } from 'testcontainers';
import type { TestProject } from 'vitest/node';
import { startEmbeddedRedis } from '../src/embedded-redis.ts';

declare module 'vitest' {
  interface ProvidedContext {
    redisUrl: string;
  }
}

interface TestRedis {
  url: string;
  close(): Promise<void>;
}

/** One real Redis for all test files; each file uses its own key tag. */
export default async function setup(project: TestProject) {
  const redis = (await startContainer()) ?? (await startServer());
  project.provide('redisUrl', redis.url);
  return redis.close;
}

/** Starts Redis in a container if a Docker engine answers; undefined otherwise. */
async function startContainer(): Promise<TestRedis | undefined> {
  const engine = await getContainerRuntimeClient().catch(() => undefined);
  if (!engine) return undefined;
  const container = await new GenericContainer('redis:8-bookworm')
    .withCommand(['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'])
    .withExposedPorts(6379)
    .start();
  const url = `redis://${container.getHost()}:${container.getMappedPort(6379)}`;
  return { url, close: async () => void (await container.stop()) };
}

async function startServer(): Promise<TestRedis> {
  const dir = await mkdtemp(join(tmpdir(), 'harness-test-redis-'));
  const redis = await startEmbeddedRedis(dir);
  return {
    url: redis.url,
    async close() {
      await redis.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
