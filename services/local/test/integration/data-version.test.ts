/** The real gateway and worker on data that is not theirs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectRedis, createLogger, startEmbeddedRedis } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { endOf } from '../start-part.ts';

test('gateway and worker refuse data of a later release with one line, and leave it as it is', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'harness-later-'));
  const server = await startEmbeddedRedis(dir);
  const redis = connectRedis(server.url, { logger: createLogger('test', 'silent'), patience: 'wait' });
  onTestFinished(async () => {
    redis.disconnect();
    await server.close();
    await rm(dir, { recursive: true, force: true });
  });
  await redis.hset('{h}:version', { data: 99, least: 98 });
  for (const service of ['gateway', 'worker'] as const) {
    expect(await endOf(service, { REDIS_URL: server.url })).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^The data in Redis has version 99, this release has \d+, and it takes a release of version 98 or later\. Start such a release, or restore a backup from before the upgrade\.\n$/,
      ),
    });
  }
  // `server` says which Redis this is, and nothing of the data.
  expect((await redis.keys('*')).filter((key) => key !== '{h}:server')).toEqual(['{h}:version']);
});
