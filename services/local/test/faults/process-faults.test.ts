import { expect, test } from 'vitest';
import { ttlMs } from './fault-fleet.ts';
import { killGateway, killWorker, replaceWorker, stopRedis, stopWorker } from './faults.ts';
import { busyScript } from './load.ts';
import { violationsOf } from './under-faults.ts';
import { until } from './until.ts';

test('F1, F2, F3 a worker is killed, stopped, and blocked for longer than its TTL: nothing is lost, and no old owner has an effect', async () => {
  const wrong = await violationsOf({ workers: 2 }, async (story) => {
    const killed = await story.load({ threads: 4, messages: 6, turnMs: 100 });
    await until('turns are under way', () => story.effects.read().length > 6);
    await killWorker(story); // F1: its agents die with it
    await story.settled(killed);

    const before = story.effects.read().length;
    const stopped = await story.load({ threads: 4, messages: 2, scriptOf: (n) => busyScript(n, 1_500) });
    await until('turns are under way', () => story.effects.read().length > before + 8);
    await stopWorker(story, 2 * ttlMs); // F2: it continues and cannot know how long it was stopped
    await story.settled(stopped);

    const block = `block-worker: ${1.5 * ttlMs}\n`; // F3: its event loop
    const scriptOf = (n: number) => (n === 2 ? block : '') + busyScript(n, 500);
    await story.load({ threads: 4, messages: 3, scriptOf });
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

test('F5 gateways are killed while clients send and read: other gateways continue with the same keys', async () => {
  const wrong = await violationsOf({ workers: 1, gateways: 3 }, async (story) => {
    const { accepted } = await story.load({ threads: 4, messages: 20, gapMs: 150 });
    await until('turns are under way', () => story.effects.read().length > 6);
    for (let i = 0; i < 3; i++) await killGateway(story);
    await accepted;
  });
  expect(wrong).toEqual([]);
});

test('F7, F8 Redis is killed and restarted, then does not respond for 1 and 3 times the TTL: nothing is lost, no thread has two owners', async () => {
  const wrong = await violationsOf({ workers: 2 }, async (story) => {
    const { client, effects } = story;
    const beginLoad = async () => {
      const before = effects.read().length;
      const work = await story.load({ threads: 4, messages: 8, turnMs: 100, gapMs: 600 });
      await until('turns are under way', () => effects.read().length > before + 6);
      return work;
    };
    const killed = await beginLoad();
    await story.killRedis();
    await until('requests are refused', () => client.refusals.some(({ status }) => status === 503));
    await story.startRedis();
    await story.settled(killed);
    for (const times of [1, 3]) {
      const stopped = await beginLoad();
      await stopRedis(story, times * ttlMs);
      await story.settled(stopped);
    }
  });
  expect(wrong).toEqual([]);
});
