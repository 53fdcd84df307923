/** Which releases may work on the data, as a later and an earlier release see it. */
import { randomUUID } from 'node:crypto';
import { createLogger } from '@harness/runtime';
import { expect, test } from 'vitest';
import type { DataChange } from '../../src/version/data-changes.ts';
import { createDataVersion } from '../../src/version/data-version.ts';
import { type Bench, openBench } from '../fixture.ts';

const logger = createLogger('test', 'silent');
const alone: DataChange = { to: 2, kind: 'alone', description: 'threads have names' };
const beside: DataChange = { to: 3, kind: 'beside', description: 'runs have a colour' };
const oneWay: DataChange = {
  to: 4,
  kind: 'one-way',
  description: 'runs are packed',
  run: async () => undefined,
};

/** A release with these changes starts on the data of `bench`. */
async function enter({ dispatch: { scripts } }: Bench, changes: readonly DataChange[]) {
  const version = createDataVersion({ scripts, logger, changes });
  const admission = await version.enter();
  version.close();
  return admission;
}
const recordOf = ({ redis, dispatch: { keys } }: Bench) => redis.hgetall(keys.one('version'));
const admitted = { outcome: 'admitted' };
const refused = (message: string) => ({ outcome: 'refused', message });

test('an empty database gets the version of the first release that starts', async () => {
  const bench = await openBench();
  expect(await enter(bench, [alone, beside])).toEqual(admitted);
  expect(await recordOf(bench)).toEqual({ data: '3', least: '2' });
  expect(await enter(bench, [alone, beside])).toEqual(admitted);
});

test('data without a version counts as 1, and its version is raised once no process of that release runs', async () => {
  const tag = randomUUID();
  const bench = await openBench({}, { tag });
  await bench.dispatch.threads.create('default', {});
  const old = await openBench({}, { tag });
  await old.dispatch.replicas.join();
  const line =
    'The data in Redis has version 1, this release has 2, and the two releases cannot run side by side: threads have names. Of the other release, 1 gateway is running. Stop every gateway and worker of it first.';
  expect(await enter(bench, [alone])).toEqual(refused(line));
  expect(await recordOf(bench)).toEqual({});
  await old.dispatch.close();
  // Redis ends a connection's subscriptions shortly after the client has disconnected.
  await expect.poll(() => enter(bench, [alone])).toEqual(admitted);
  expect(await recordOf(bench)).toEqual({ data: '2', least: '2' });
});

test('a release starts beside an earlier one if the change allows it, and the earlier one can start again', async () => {
  const tag = randomUUID();
  const bench = await openBench({}, { tag });
  expect(await enter(bench, [alone])).toEqual(admitted);
  const earlier = await openBench({}, { tag });
  await earlier.dispatch.replicas.join();
  expect(await enter(bench, [alone, beside])).toEqual(admitted);
  expect(await recordOf(bench)).toEqual({ data: '3', least: '2' });
  expect(await enter(earlier, [alone])).toEqual(admitted);
  expect(await recordOf(bench)).toEqual({ data: '3', least: '2' });
  expect(await enter(earlier, [])).toEqual(
    refused(
      'The data in Redis has version 3, this release has 1, and it takes a release of version 2 or later. Start such a release, or restore a backup from before the upgrade.',
    ),
  );
});

test('a one-way change waits for a migration', async () => {
  const bench = await openBench();
  await enter(bench, [alone]);
  expect(await enter(bench, [alone, beside, oneWay])).toEqual(
    refused(
      'The data in Redis has version 2, this release has 4, and this change cannot be undone: runs have a colour; runs are packed. Stop every gateway and worker, make a backup, then run `npm run migrate`.',
    ),
  );
  expect(await recordOf(bench)).toEqual({ data: '2', least: '2' });
});

test('a database that is emptied under a running process gets its version back', async () => {
  const bench = await openBench();
  expect(await bench.dispatch.dataVersion.enter()).toEqual(admitted);
  const recorded = await recordOf(bench);
  await bench.redis.del(bench.dispatch.keys.one('version'));
  await expect.poll(() => recordOf(bench)).toEqual(recorded);
});
