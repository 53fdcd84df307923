/** A one-way change: interrupted, run again, refused while the fleet runs. */
import { randomUUID } from 'node:crypto';
import { createLogger } from '@harness/runtime';
import { expect, test } from 'vitest';
import type { DataChange } from '../../src/version/data-changes.ts';
import { createDataVersion } from '../../src/version/data-version.ts';
import { migrateData } from '../../src/version/migrate-data.ts';
import { openBench } from '../fixture.ts';

const beside: DataChange = { to: 2, kind: 'beside', description: 'runs have a colour' };
/** Moves the model of each thread to another field; ends in the middle while `broken`. */
function packing(state: { broken: boolean; batches: number }): DataChange {
  return {
    to: 3,
    kind: 'one-way',
    description: 'the model of a thread is its engine',
    run: ({ redis, eachBatch }) =>
      eachBatch('th', async (names) => {
        state.batches += 1;
        for (const name of names) {
          const model = await redis.hget(name, 'model');
          if (model === null) continue;
          await redis.multi().hset(name, 'engine', model).hdel(name, 'model').exec();
          if (state.broken) throw new Error('the machine stopped');
        }
      }),
  };
}

test('after a failed migration no release starts until the migration is run again', async () => {
  const tag = randomUUID();
  const bench = await openBench({}, { tag });
  const { threads, keys, scripts } = bench.dispatch;
  for (let n = 0; n < 20; n += 1) await threads.create('default', { model: `m${n}` });
  const state = { broken: true, batches: 0 };
  const changes = [beside, packing(state)];
  const reported: string[] = [];
  const migrate = () =>
    migrateData(bench.redis, {
      tag,
      changes,
      force: false,
      onChange: ({ description }) => reported.push(description),
    });
  const enter = async (known: readonly DataChange[]) => {
    const logger = createLogger('test', 'silent');
    const version = createDataVersion({ scripts, logger, changes: known });
    const admission = await version.enter();
    version.close();
    return admission;
  };
  const converted = async () => {
    const names = await bench.redis.keys(keys.of('th', '*'));
    return (await Promise.all(names.map((name) => bench.redis.hexists(name, 'engine')))).filter(Boolean)
      .length;
  };

  await expect(migrate()).rejects.toThrow('the machine stopped');
  expect(await converted()).toBe(1);
  expect(reported).toEqual(['runs have a colour', 'the model of a thread is its engine']);
  expect(await enter(changes)).toEqual({
    outcome: 'refused',
    message:
      'A migration of the data in Redis to version 3 has not finished. Let it finish, or run `npm run migrate` again.',
  });
  expect(await enter([beside])).toMatchObject({
    outcome: 'refused',
    message: expect.stringContaining('it takes a release of version 3 or later'),
  });

  state.broken = false;
  expect(await migrate()).toEqual({ outcome: 'migrated', from: 2, to: 3 });
  expect(reported.slice(2)).toEqual(['the model of a thread is its engine']);
  expect(await converted()).toBe(20);
  expect(await enter(changes)).toEqual({ outcome: 'admitted' });
  const { batches } = state;
  expect(await migrate()).toEqual({ outcome: 'current', from: 3, to: 3 });
  expect(state.batches).toBe(batches);
  expect(await bench.redis.hgetall(keys.one('version'))).toEqual({ data: '3', least: '3' });
});

test('a migration is refused while a process of the fleet runs, unless it is forced; an empty database has nothing to migrate', async () => {
  const tag = randomUUID();
  const bench = await openBench({}, { tag });
  const changes = [beside];
  const migrate = (force: boolean) =>
    migrateData(bench.redis, { tag, changes, force, onChange: () => undefined });
  await bench.dispatch.threads.create('default', {});
  const gateway = await openBench({}, { tag });
  await gateway.dispatch.replicas.join();
  expect(await migrate(false)).toEqual({
    outcome: 'refused',
    message:
      'The data cannot be migrated while the fleet works on it: 1 gateway is running. Stop every gateway and worker first.',
  });
  expect(await migrate(true)).toEqual({ outcome: 'migrated', from: 1, to: 2 });
  expect(await migrate(false)).toEqual({ outcome: 'current', from: 2, to: 2 });

  const options = { tag: randomUUID(), changes, force: false, onChange: () => undefined };
  expect(await migrateData(bench.redis, options)).toEqual({ outcome: 'empty', to: 2 });
});
