/** Turns that are interrupted, with the real Agent SDK: each continues where its transcript ends, and ends once. */
import { setTimeout as after } from 'node:timers/promises';
import type { Run, Task } from '@harness/contracts';
import { expect, test } from 'vitest';
import { resultsStored } from '../stored-results.ts';
import { livingWorkers, restartRedis } from './faults.ts';
import { type Story, violationsOf } from './under-faults.ts';
import { until } from './until.ts';

const effectOf = (n: number) => `call: effects__record {"n":${n}}`;
/** Three effects with pauses between them: a turn that may be interrupted twice. */
const longScript = (sleepMs: number) => (n: number) =>
  [
    'persist:',
    effectOf(n),
    `sleep: ${sleepMs}`,
    effectOf(n),
    `sleep: ${sleepMs}`,
    effectOf(n),
    `say: ${n}`,
  ].join('\n');

const effects = (story: Story, count: number) =>
  until(`effect ${count}`, () => story.effects.read().length >= count, 30_000);

async function runsOf({ client }: Story, threadIds: readonly string[]) {
  return (await Promise.all(threadIds.map(client.runs))).flat();
}

test('F26 two workers are stopped during the same turn: it continues, and neither counts as a crash', async () => {
  const env = { HARNESS_DRAIN_MS: '500', HARNESS_TURN_TIMEOUT_MS: '60000' };
  const wrong = await violationsOf({ workers: 1, env, real: true }, async (story) => {
    const work = await story.load({ threads: 1, messages: 1, scriptOf: longScript(6_000) });
    // Each cut, with the start of the next worker, must lie within a pause: an effect in progress may be repeated.
    for (const cut of [1, 2]) {
      await resultsStored(story.redis, work.threadIds[0] ?? '', cut);
      const [old] = livingWorkers(story);
      await story.addWorker();
      await old?.end(20_000);
    }
    await story.settled(work);
    expect(await runsOf(story, work.threadIds)).toMatchObject([
      { status: 'success', result: '1', attempt: 1 },
    ]);
    expect(story.effects.read()).toHaveLength(3);
  });
  expect(wrong).toEqual([]);
});

test('F27 Redis is down during a turn, longer than the liveness TTL: the turn continues, idle sessions stay warm', async () => {
  const env = { HARNESS_TURN_TIMEOUT_MS: '60000' };
  const wrong = await violationsOf({ workers: 1, env, real: true }, async (story) => {
    const idle = await story.client.thread();
    const answered = (n: number) => isAnswered(story, idle, n);
    await answered(1);
    const work = await story.load({ threads: 1, messages: 1, scriptOf: longScript(1_000) });
    await effects(story, 1);
    await restartRedis(story, 3_000);
    await story.settled(work);
    expect(await runsOf(story, work.threadIds)).toMatchObject([
      { status: 'success', result: '1', attempt: 1 },
    ]);
    expect(await answered(2)).toMatchObject({ path: 'warm', result: '2' });
  });
  expect(wrong).toEqual([]);
});

test('F27 Redis is down or full when the model has answered, longer than the liveness TTL: that answer is the result', async () => {
  const env = { HARNESS_TURN_TIMEOUT_MS: '60000' };
  const wrong = await violationsOf({ workers: 1, env, real: true }, async (story) => {
    const faults = [
      () => restartRedis(story, 4_000),
      async () => {
        await story.redis.config('SET', 'maxmemory', '1');
        await after(4_000);
        await story.redis.config('SET', 'maxmemory', '0');
      },
    ];
    for (const fault of faults) {
      const before = story.effects.read().length;
      const work = await story.load({
        threads: 1,
        messages: 1,
        scriptOf: (n) => `persist:\n${effectOf(n)}\nsleep: 500\nsay: ${n}`,
      });
      await effects(story, before + 1);
      await fault();
      await story.settled(work);
      const [threadId = ''] = work.threadIds;
      expect(await runsOf(story, [threadId])).toMatchObject([{ status: 'success', result: '1', attempt: 1 }]);
      const answers = (await story.client.events(threadId)).filter(({ type }) => type === 'agent.message');
      expect(answers).toHaveLength(1);
      expect(story.effects.read()).toHaveLength(before + 1);
    }
  });
  expect(wrong).toEqual([]);
});

test('F28 Redis is full during a turn: the result is written when there is space, and the model is not called again', async () => {
  const env = { HARNESS_TURN_TIMEOUT_MS: '60000', HARNESS_WORKER_TTL_MS: '20000' };
  const wrong = await violationsOf({ workers: 1, env, real: true }, async (story) => {
    const work = await story.load({
      threads: 1,
      messages: 1,
      scriptOf: (n) => `${effectOf(n)}\nsleep: 500\nsay: ${n}`,
    });
    await effects(story, 1);
    await story.redis.config('SET', 'maxmemory', '1');
    const [worker] = livingWorkers(story);
    await until(
      'Redis refuses the writes of the turn',
      async () => (await errorsOf(story, 'OOM')) > 3,
      20_000,
    );
    await story.redis.config('SET', 'maxmemory', '0');
    await story.settled(work);
    expect(worker?.process.exitCode).toBe(null);
    expect(await runsOf(story, work.threadIds)).toMatchObject([
      { status: 'success', result: '1', attempt: 1 },
    ]);
    expect(story.effects.read()).toHaveLength(1);
  });
  expect(wrong).toEqual([]);
});

test('F32 Redis is full while a session starts: its process is ended, and the turn runs in another one', async () => {
  const env = { HARNESS_SPARES: '0', HARNESS_TURN_TIMEOUT_MS: '60000', HARNESS_MAX_SESSIONS: '1' };
  const wrong = await violationsOf({ workers: 1, env, real: true }, async (story) => {
    const work = await story.load({ threads: 1, messages: 1, scriptOf: (n) => `say: ${n}` });
    const [threadId = ''] = work.threadIds;
    await until('the session starts', () => story.redis.hget(`{h}:th:${threadId}`, 'warming'));
    await story.redis.config('SET', 'maxmemory', '1');
    await after(3_000);
    await story.redis.config('SET', 'maxmemory', '0');
    await story.settled(work);
    expect(await runsOf(story, work.threadIds)).toMatchObject([
      { status: 'success', result: '1', attempt: 1 },
    ]);
  });
  expect(wrong).toEqual([]);
});

test('F33 a fail-over takes back the claim of a thread whose session starts: the turn does not wait for its tools', async () => {
  const env = { HARNESS_SPARES: '0', HARNESS_TURN_TIMEOUT_MS: '60000' };
  const wrong = await violationsOf({ workers: 1, env, real: true }, async (story) => {
    const work = await story.load({ threads: 1, messages: 1, scriptOf: (n) => `say: ${n}` });
    const [threadId = ''] = work.threadIds;
    const thread = `{h}:th:${threadId}`;
    await until('the session starts', () => story.redis.hget(thread, 'warming'));
    const owner = (await story.redis.hget(thread, 'owner')) ?? '';
    await story.redis.hdel(
      thread,
      'owner',
      'epoch',
      'attempt',
      'run',
      'nonce',
      'tried',
      'begunAt',
      'warming',
      'emitted',
    );
    await story.redis.srem(`{h}:own:${owner.split('#')[0]}`, threadId);
    await until(
      'the run ends',
      async () => (await runsOf(story, [threadId]))[0]?.status === 'success',
      15_000,
    );
    await story.settled(work);
  });
  expect(wrong).toEqual([]);
});

test('F29 Redis refuses a result: that counts as an attempt, so the model is not called without limit', async () => {
  const wrong = await violationsOf({ workers: 1, real: true }, async (story) => {
    const parentThreadId = await story.client.thread();
    const { taskId } = await story.client.call<Task>('POST', '/v1/tasks', {
      body: {
        prompt: 'sleep: 500',
        parentThreadId,
      },
    });
    const task = () => story.client.call<Task>('GET', `/v1/tasks/${taskId}`);
    // The end of the task must notify its parent, which fails.
    await story.redis.set(`{h}:mb:${parentThreadId}`, 'not a mailbox');
    const reviews = () => story.effects.read().filter(({ kind }) => kind === 'reviewed').length;
    await until('every attempt is spent', () => reviews() === 3, 20_000);
    await until('the task is given up', async () => (await errorsOf(story, 'WRONGTYPE')) > 3, 20_000);
    await story.redis.del(`{h}:mb:${parentThreadId}`);
    await until('the task has ended', async () => (await task()).status === 'failed', 20_000);
    expect(await task()).toMatchObject({ error: { code: 'attempts_exhausted' } });
    await until(
      'its parent was notified',
      async () => (await story.client.runs(parentThreadId))[0]?.status === 'success',
      20_000,
    );
    expect(reviews()).toBe(3);
  });
  expect(wrong).toEqual([]);
});

/** Sends `say: n` to the thread and returns the run that answers it. */
async function isAnswered({ client }: Story, threadId: string, n: number): Promise<Run> {
  const { runId } = await client.send(threadId, `say: ${n}`, `${threadId}-${n}`);
  const run = async () => (await client.runs(threadId)).find((one) => one.runId === runId);
  return until(
    'it is answered',
    async () => {
      const found = await run();
      return found?.status === 'success' ? found : undefined;
    },
    20_000,
  );
}

/** How often Redis returned this error. */
async function errorsOf({ redis }: Story, code: string): Promise<number> {
  return Number(new RegExp(`errorstat_${code}:count=(\\d+)`).exec(await redis.info('errorstats'))?.[1] ?? 0);
}
