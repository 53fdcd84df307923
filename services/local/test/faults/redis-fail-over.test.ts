import { expect, test } from 'vitest';
import { failOverRedis } from './redis-fail-overs.ts';

test('F30 Redis fails over to a replica that lags: with acks no accepted message is lost or doubled', async () => {
  const report = await failOverRedis({ times: 1, acks: 1 });
  console.log(JSON.stringify(report));
  expect(report).toMatchObject({ lost: 0, reported: 0, wrong: [] });
  // Where the machine is busy, the sentinels may fail over once more.
  expect(report.changes).toBeGreaterThanOrEqual(1);
});

test('F31 the same without acks: lost messages are counted and reported, and everything else continues', async () => {
  const report = await failOverRedis({ times: 1, acks: 0 });
  console.log(JSON.stringify(report));
  expect(report.wrong).toEqual([]);
  expect(report.lost).toBeGreaterThan(0);
  expect(report.reported).toBe(report.lost);
});
