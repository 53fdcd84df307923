import type { connectRedis } from '@harness/runtime';
import { until } from './faults/until.ts';

/**
 * Resolves when the transcript in Redis has this many tool results, so that the next worker of the turn has them, too.
 * The agent process hands entries over about 100 ms after they were made, later than the event of the result.
 */
export async function resultsStored(
  redis: ReturnType<typeof connectRedis>,
  threadId: string,
  count: number,
): Promise<void> {
  const stored = async () => {
    const names = await redis.smembers(`{h}:sess:${threadId}`);
    const entries = await Promise.all(
      names.map((name) => redis.lrange(`{h}:sess:${threadId}:${name}`, 0, -1)),
    );
    return entries.flat().filter((entry) => entry.includes('"tool_result"')).length;
  };
  await until(`result ${count} is in the transcript`, async () => (await stored()) >= count, 30_000);
}
