import { expect, test } from 'vitest';
import { ttlMs } from './fault-fleet.ts';
import { killGateway, killWorker, replaceWorker, stopRedis, stopWorker } from './faults.ts';
import { busyScript } from './load.ts';
import { violationsOf } from './under-faults.ts';
import { until } from './until.ts';

test('F1 a worker is killed in mid-turn: nothing is lost, its agents die with it', async () => {
  const wrong = await violationsOf({ workers: 2 }, async (story) => {
    await story.load({ threads: 4, messages: 6, turnMs: 100 });
    await until('turns are under way', () => story.effects.read().length > 6);
    await killWorker(story);
  });
  expect(wrong).toEqual([]);
});

test('F2 a worker stops for twice its TTL in mid-turn and goes on: no effect of the past', async () => {
  const wrong = await violationsOf({ workers: 2 }, async (story) => {
    await story.load({ threads: 4, messages: 2, scriptOf: (n) => busyScript(n, 1_500) });
    await until('turns are under way', () => story.effects.read().length > 8);
    await stopWorker(story, 2 * ttlMs);
  });
  expect(wrong).toEqual([]);
});

test('F3 the event loop of a worker is blocked for longer than its TTL: the same', async () => {
  const wrong = await violationsOf({ workers: 2 }, async ({ load }) => {
    const scriptOf = (n: number) =>
      n === 2 ? `block-worker: ${1.5 * ttlMs}\n${busyScript(n, 500)}` : busyScript(n, 500);
    await load({ threads: 4, messages: 3, scriptOf });
  });
  expect(wrong).toEqual([]);
});

test('F4 three workers are replaced under load: no turn is done twice, no request fails', async () => {
  const wrong = await violationsOf({ workers: 3 }, async (story) => {
    const { client, effects, load, settled } = story;
    const work = await load({ threads: 6, messages: 12, turnMs: 50, gapMs: 200 });
    await until('turns are under way', () => effects.read().length > 6);
    for (let i = 0; i < 3; i++) await replaceWorker(story);
    await settled(work);
    const runs = (await Promise.all(work.threadIds.map(client.runs))).flat();
    expect(runs.map(({ attempt }) => attempt)).toEqual(runs.map(() => 1));
    expect(client.refusals).toEqual([]);
  });
  expect(wrong).toEqual([]);
});

test('F5 gateways are killed while clients send and read: others go on with the same keys', async () => {
  const wrong = await violationsOf({ workers: 1, gateways: 3 }, async (story) => {
    const { accepted } = await story.load({ threads: 4, messages: 20, gapMs: 150 });
    await until('turns are under way', () => story.effects.read().length > 6);
    for (let i = 0; i < 3; i++) await killGateway(story);
    await accepted;
  });
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

test.each([1, 3])(
  'F8 Redis answers nothing for %d times the TTL: no thread has two owners',
  async (times) => {
    const wrong = await violationsOf({ workers: 2 }, async (story) => {
      const { accepted } = await story.load({ threads: 4, messages: 6, turnMs: 100, gapMs: 800 });
      await until('turns are under way', () => story.effects.read().length > 6);
      await stopRedis(story, times * ttlMs);
      await accepted;
    });
    expect(wrong).toEqual([]);
  },
);
