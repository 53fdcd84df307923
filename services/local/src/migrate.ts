/** `npm run migrate`: brings the data in Redis to the version of this release. */
import { join } from 'node:path';
import { type Migration, migrateData } from '@harness/dispatch';
import { ConfigError, connectRedis, createLogger, runMain, startEmbeddedRedis } from '@harness/runtime';
import { loadMigrateConfig } from './config.ts';
import { lockFolder } from './lock.ts';

/** Longest wait for Redis, ms. */
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
      process.stderr.write('Redis did not answer in time.\n');
      process.exit(1);
    }, redisWaitMs);
    await redis.ping();
    clearTimeout(late);
    const done = await migrateData(redis, {
      force,
      onChange: ({ to, kind, says }) =>
        console.log(`To version ${to}: ${says}${kind === 'one-way' ? '. There is no way back' : ''}.`),
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
      return `There is no data yet; it begins with version ${done.to}.`;
    case 'current':
      return `The data has version ${done.to}, as this release: there is nothing to migrate.`;
    case 'migrated':
      return `The data had version ${done.from} and has version ${done.to} now.`;
  }
}
