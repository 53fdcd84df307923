/** `npm run files -- verify|collect`: checks the files of all threads, or collects what no thread refers to. */
import { join } from 'node:path';
import { createDispatch } from '@harness/dispatch';
import { ConfigError, connectRedis, createLogger, runMain } from '@harness/runtime';
import { openFileStore } from '@harness/workspaces';
import { loadFilesConfig } from './config.ts';

/** Maximum wait for Redis, ms. */
const redisWaitMs = 30_000;
/** Files that nothing refers to are kept for so long, ms: a turn may be about to commit them. */
const graceMs = 24 * 3_600_000;

runMain(async () => {
  const { command, url, filesDir, ownFolder } = loadFilesConfig();
  const logger = createLogger('files', 'warn');
  const connect = () => connectRedis(url ?? socketIn(ownFolder), { logger, patience: 'wait' });
  const [redis, subscriber] = [connect(), connect()];
  const late = setTimeout(() => {
    process.stderr.write(
      `Redis did not respond within ${redisWaitMs / 1000} s: check REDIS_URL and start Redis, or \`npm start\` in this folder.\n`,
    );
    process.exit(1);
  }, redisWaitMs);
  await redis.ping();
  clearTimeout(late);
  const dispatch = createDispatch({ redis, subscriber, logger });
  try {
    const dir = filesDir ?? join(ownFolder, 'files');
    const store = openFileStore({ dir });
    const { files } = dispatch;
    if (command === 'collect' && !(await store.belongsTo(await files.installationId())))
      throw new ConfigError(
        'The files belong to other data than that in this Redis, so nothing is collected. If Redis was emptied on purpose, delete the file "installation" in the folder of the files.',
      );
    console.log(`Files in ${dir}`);
    let isWhole = true;
    // Files of a tenant whose folder is missing are missing, too.
    const ofRedis = command === 'verify' ? await files.tenants() : [];
    for (const tenant of new Set([...(await store.tenants()), ...ofRedis])) {
      const of = store.of(tenant);
      if (command === 'collect') console.log(tenant, await of.collect(files.live(tenant), { graceMs }));
      else {
        const { damaged, missing, ...counts } = await of.verify(files.live(tenant));
        console.log(tenant, counts);
        for (const sha256 of damaged) console.log(`  damaged: ${sha256}`);
        for (const sha256 of missing) console.log(`  missing: ${sha256}`);
        isWhole &&= damaged.length + missing.length === 0;
      }
    }
    if (!isWhole) {
      console.log(
        'Restore these files from a backup, into blobs/<first two digits>/ of the tenant’s folder.',
      );
      process.exitCode = 1;
    }
  } finally {
    await dispatch.close();
    redis.disconnect();
    subscriber.disconnect();
  }
});

/** The Redis of `npm start` in this folder, which must be running. */
const socketIn = (folder: string) => `unix://${join(folder, 'redis', 'redis.sock')}`;
