import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fuzzOpenApi } from '../../../gateway/test/fuzz/fuzz-openapi.ts';
import { startFleet } from '../../src/fleet.ts';
import type { SoakOptions } from './soak-options.ts';

const key = 'key-of-the-fuzz-test';

/** Requests of every kind to a real gateway. Throws with the first whose response is not as documented. */
export async function soakWithFuzz({ runs = 20_000 }: SoakOptions): Promise<void> {
  const redisDir = await mkdtemp(join(tmpdir(), 'harness-fuzz-'));
  const limitsFile = join(redisDir, 'limits.json');
  await writeFile(limitsFile, JSON.stringify({ defaults: { requestsPerSecond: 100_000 } }));
  const env = {
    PATH: process.env.PATH ?? '',
    LOG_LEVEL: 'error',
    HARNESS_API_KEY: key,
    HARNESS_LIMITS_FILE: limitsFile,
  };
  const fleet = await startFleet({ redisDir, port: 0, workers: 0, env, scripted: false, visible: true });
  try {
    const { requests, statuses } = await fuzzOpenApi({
      url: fleet.url,
      document: await readFile(new URL('../../../../openapi.yaml', import.meta.url), 'utf8'),
      requests: runs,
      credentials: [`Bearer ${key}`, 'Bearer nobody'],
    });
    const count = (fits: (status: string) => boolean) =>
      Object.values(statuses)
        .flatMap((seen) => Object.entries(seen))
        .reduce((sum, [status, times]) => (fits(status) ? sum + times : sum), 0);
    const classes = [2, 4, 5].map(
      (first) => `${first}xx ${count((status) => status.startsWith(String(first)))}`,
    );
    console.log(
      `${requests} requests to ${Object.keys(statuses).length} operations: ${classes.join(', ')}; schema breaks 0`,
    );
  } finally {
    await fleet.close();
    await rm(redisDir, { recursive: true, force: true });
  }
}
