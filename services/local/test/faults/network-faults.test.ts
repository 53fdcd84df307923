import { setTimeout as after } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ttlMs } from './fault-fleet.ts';
import {
  bullCommands,
  callOf,
  cutOff,
  flushScripts,
  livingWorkers,
  proxiesOf,
  ringRaw,
  slowDown,
} from './faults.ts';
import { violationsOf } from './under-faults.ts';
import { until } from './until.ts';

test('F12 Redis executes a command and its reply is lost, for every step of a turn', async () => {
  const wrong = await violationsOf({ workers: 2 }, async (story) => {
    const scripts = [
      'thread/append',
      'lease/claim',
      'lease/begin',
      'lease/emit',
      'lease/commit',
      'gateway/authority',
      'worker/sweep',
      'session/session-state',
    ];
    const steps = [...scripts.map((name) => [name, callOf(name)] as const), ...Object.entries(bullCommands)];
    for (const [name, fits] of steps) {
      // New threads take every step; their later messages take only those of a warm thread.
      await story.load({ threads: 3, messages: 4, gapMs: 200 });
      const limitMs = name === 'worker/sweep' ? 3_000 : 1_000; // workers sweep every 1 to 2 s, not for each message
      const droppedOf = proxiesOf(story).map((proxy) => proxy.dropReplies(fits, 1, limitMs));
      const dropped = (await Promise.all(droppedOf)).reduce((sum, one) => sum + one, 0);
      expect([name, dropped > 0]).toEqual([name, true]);
    }
  });
  expect(wrong).toEqual([]);
});

test('F13 Redis has a latency of 50 to 500 ms in both directions', async () => {
  const wrong = await violationsOf({ workers: 2, slackMs: 1_500 }, async (story) => {
    await story.load({ threads: 3, messages: 3, turnMs: 50 });
    await slowDown(story, 500, 6_000);
  });
  expect(wrong).toEqual([]);
});

test('F13 connections to Redis are reset, and those of one worker and of the gateway go silent: threads continue on other workers, and new ones start', async () => {
  const wrong = await violationsOf({ workers: 2 }, async (story) => {
    const reset = await story.load({ threads: 4, messages: 10, turnMs: 50, gapMs: 300 });
    for (let i = 0; i < 8; i++) {
      story.random.pick(proxiesOf(story)).reset();
      await after(story.random.upTo(500));
    }
    await story.settled(reset);

    const before = story.effects.read().length;
    const cut = await story.load({ threads: 4, messages: 8, turnMs: 200, gapMs: 500 });
    await until('turns are under way', () => story.effects.read().length > before + 6);
    const [victim] = livingWorkers(story);
    if (victim) await cutOff(victim.proxy, 2 * ttlMs);
    await story.settled(cut);

    const mute = await story.load({ threads: 3, messages: 10, gapMs: 300 });
    story.proxy.halfOpen();
    await mute.accepted;
  });
  expect(wrong).toEqual([]);
});

test('F14, F24 Redis loses every script under load, and doorbells ring a hundred times too often', async () => {
  const wrong = await violationsOf({ workers: 2 }, async (story) => {
    const flushed = await story.load({ threads: 4, messages: 10, gapMs: 100 });
    for (let i = 0; i < 10; i++) {
      await flushScripts(story);
      await after(story.random.upTo(100));
    }
    await story.settled(flushed);

    const work = await story.load({ threads: 4, messages: 6, turnMs: 50 });
    const queues = ['assign', ...story.workers.map(({ ready }) => `w.${ready.workerId}`)];
    const unknown = `thr_${'0'.repeat(32)}`;
    for (let i = 0; i < 100; i++) {
      const threadId = i % 10 === 0 ? unknown : story.random.pick(work.threadIds);
      await ringRaw(story, story.random.pick(queues), threadId);
    }
    await story.settled(work);
    const runs = (await Promise.all(work.threadIds.map(story.client.runs))).flat();
    expect(runs.map(({ attempt }) => attempt)).toEqual(runs.map(() => 1));
    for (const threadId of work.threadIds) await ringRaw(story, 'assign', threadId);
    const waiting = async () => story.redis.llen('{h}:bull:assign:wait');
    await until('every doorbell is answered', async () => (await waiting()) === 0);
  });
  expect(wrong).toEqual([]);
});
