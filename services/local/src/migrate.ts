/** `npm run migrate`: migrates the data in Redis to the version of this release. */
import { join } from 'node:path';
import { type Migration, migrateData } from '@harness/dispatch';
import {
  ConfigError,
  connectRedis,
  createLogger,
  requireDatabase,
  runMain,
  startEmbeddedRedis,
} from '@harness/runtime';
import { loadMigrateConfig } from './config.ts';
import { lockFolder } from './lock.ts';

/** Maximum wait for Redis, ms. */
const redisWaitMs = 30_000;

runMain(async () => {
  const { url, force } = loadMigrateConfig();
  const embedded = url === undefined ? await startOwnRedis() : undefined;
  const redis = connectRedis(url ?? (embedded?.url as string), {
    logger: createLogger('migrate', 'warn'),
    patience: 'wait',
  });
  try {
    const late = setTimeout(() => {
      process.stderr.write(
        `Redis did not respond within ${redisWaitMs / 1000} s: check REDIS_URL and start Redis.\n`,
      );
      process.exit(1);
    }, redisWaitMs);
    await redis.ping();
    clearTimeout(late);
    await requireDatabase(redis);
    const done = await migrateData(redis, {
      force,
      onChange: ({ to, kind, description }) =>
        console.log(
          `To version ${to}: ${description}${kind === 'one-way' ? '. This cannot be undone' : ''}.`,
        ),
    });
    if (done.outcome === 'refused') throw new ConfigError(done.message);
    console.log(lineOf(done));
  } finally {
    redis.disconnect();
    await embedded?.close();
  }
});

/** The Redis of `npm start` in this folder, which must not be running. */
async function startOwnRedis() {
  const folder = join(process.cwd(), '.harness');
  const lock = lockFolder(folder);
  process.once('exit', lock.release);
  return startEmbeddedRedis(join(folder, 'redis'));
}

function lineOf(done: Exclude<Migration, { outcome: 'refused' }>): string {
  switch (done.outcome) {
    case 'empty':
      return `There is no data yet; it will start with version ${done.to}.`;
    case 'current':
      return `The data has version ${done.to}, the version of this release: there is nothing to migrate.`;
    case 'migrated':
      return `The data had version ${done.from} and now has version ${done.to}.`;
  }
}
