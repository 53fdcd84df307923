/** Redis forgets its scripts after SCRIPT FLUSH, a restart or a fail-over; calls of scripts succeed nevertheless. */
import { expect, test } from 'vitest';
import { openBench } from '../fixture.ts';

const tenant = 'default';

test('calls succeed while Redis forgets its scripts again and again', async () => {
  const bench = await openBench();
  const { threads } = bench.dispatch;
  const flusher = bench.redis.duplicate();
  let done = false;
  const flushing = (async () => {
    while (!done) await flusher.script('FLUSH', 'SYNC');
  })();
  const rounds = 60;
  try {
    for (let round = 0; round < rounds; round++)
      await Promise.all(Array.from({ length: 10 }, () => threads.create(tenant, {})));
  } finally {
    done = true;
    await flushing;
    flusher.disconnect();
  }
  const { threads: page } = await threads.list(tenant, { limit: 100 });
  expect(page).toHaveLength(100);
});
