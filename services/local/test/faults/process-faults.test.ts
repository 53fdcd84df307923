import { expect, test } from 'vitest';
import { violationsOf } from './under-faults.ts';
import { until } from './until.ts';

test('F1 a worker is killed in mid-turn: nothing is lost, its agents die with it', async () => {
  const wrong = await violationsOf(
    { workers: 2 },
    async ({ load, workers, effects, noteFamily, addWorker }) => {
      const { accepted } = await load({ threads: 4, messages: 6, turnMs: 100 });
      await until('turns are under way', () => effects.read().length > 6);
      noteFamily();
      workers[0]?.process.kill('SIGKILL');
      await addWorker();
      await accepted;
    },
  );
  expect(wrong).toEqual([]);
});

test('F4 three workers are replaced under load: no turn is done twice, no request fails', async () => {
  const wrong = await violationsOf(
    { workers: 3 },
    async ({ load, workers, addWorker, settled, client, effects }) => {
      const work = await load({ threads: 6, messages: 12, turnMs: 50, gapMs: 200 });
      await until('turns are under way', () => effects.read().length > 6);
      for (const old of workers.slice(0, 3)) {
        await addWorker();
        await old.end(15_000);
      }
      await settled(work);
      const runs = (await Promise.all(work.threadIds.map(client.runs))).flat();
      expect(runs.map(({ attempt }) => attempt)).toEqual(runs.map(() => 1));
      expect(client.refusals).toEqual([]);
    },
  );
  expect(wrong).toEqual([]);
});

test('F7 Redis is killed and started again: what was accepted is there', async () => {
  const wrong = await violationsOf(
    { workers: 2 },
    async ({ load, effects, killRedis, startRedis, client }) => {
      const { accepted } = await load({ threads: 4, messages: 12, turnMs: 50, gapMs: 400 });
      await until('turns are under way', () => effects.read().length > 6);
      await killRedis();
      await until('requests are refused', () => client.refusals.some(({ status }) => status === 503));
      await startRedis();
      await accepted;
    },
  );
  expect(wrong).toEqual([]);
});
