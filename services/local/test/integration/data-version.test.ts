/** The real gateway, worker and migration on data of other releases. */
import { freePort } from '@harness/runtime';
import { expect, test } from 'vitest';
import { openRedis } from '../open-redis.ts';
import { endOf } from '../start-part.ts';

test('gateway and worker refuse data of a later release with one line, and do not change it', async () => {
  const { redis, url } = await openRedis();
  await redis.hset('{h}:version', { data: 99, least: 98 });
  for (const service of ['gateway', 'worker'] as const) {
    expect(await endOf(service, { REDIS_URL: url })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^The data in Redis has version 99, this release has \d+, and it takes a release of version 98 or later\. Start such a release, or restore a backup from before the upgrade\.\n$/,
      ),
    });
  }
  // `server` identifies this Redis, and is no part of the data.
  expect((await redis.keys('*')).filter((key) => key !== '{h}:server')).toEqual(['{h}:version']);
});

test('a damaged record of the version is named, in one line', async () => {
  const { redis, url } = await openRedis();
  const damaged = {
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^The record of .* is damaged\. .*\n$/),
  };
  await redis.set('{h}:version', 'x');
  expect(await endOf('gateway', { REDIS_URL: url })).toEqual(damaged);
  await redis.del('{h}:version');
  for (const record of [
    { data: 'x', least: 4 },
    { data: 4, least: 'x' },
    { data: 3.5, least: 3 },
    { data: 99 },
  ]) {
    await redis.hset('{h}:version', record);
    expect(await endOf('worker', { REDIS_URL: url })).toEqual(damaged);
    expect(await endOf('migrate', { REDIS_URL: url })).toEqual(damaged);
    await redis.del('{h}:version');
  }
});

test('a database that Redis does not have is refused: nothing is written to another one', async () => {
  const { redis } = await openRedis();
  const port = await freePort();
  await redis.config('SET', 'port', port);
  const env = { REDIS_URL: `redis://127.0.0.1:${port}/99`, LOG_LEVEL: 'silent' };
  for (const service of ['gateway', 'worker', 'migrate'] as const)
    expect(await endOf(service, env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('REDIS_URL: Redis does not let this process use the database 99'),
    });
  expect((await redis.keys('*')).filter((key) => key !== '{h}:server')).toEqual([]);
});

test('npm run migrate reports both versions and each change; a second run has nothing to do', async () => {
  const { redis, url } = await openRedis('version-1.rdb');
  const migrate = (...args: string[]) => endOf('migrate', { REDIS_URL: url }, args);
  const keys = await redis.dbsize();
  expect(await migrate()).toEqual({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(
      /^To version 2: threads that .*\.\n(To .*\n)*The data had version 1 and now has version \d+\.\n$/,
    ),
  });
  expect(await redis.dbsize()).toBe(keys + 1);
  expect((await migrate()).stdout).toMatch(
    /^The data has version \d+, the version of this release: there is nothing to migrate\.\n$/,
  );
  expect(await migrate('--fast')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Usage: npm run migrate'),
  });
});
