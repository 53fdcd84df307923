import { expect, test } from 'vitest';
import { openFleet, shareFleet } from '../open-fleet.ts';

const sharedFleet = shareFleet();
const env = { HARNESS_WORKER_TTL_MS: '2000' };

test('after a worker is killed during a turn, the run ends once, on another worker', async () => {
  const fleet = await openFleet({ env });
  const threadId = await fleet.thread();
  await fleet.ask(threadId, 'remember: plum');
  const path = `/v1/threads/${threadId}/events?follow=true`;
  const begun = fleet.watch(path, (event) => event.type === 'agent.message_delta');
  const run = await fleet.send(threadId, 'stream: 200\nsay: the end');
  await begun;
  const [victim] = fleet.workers;
  victim?.process.kill('SIGKILL');
  await fleet.addWorker();
  const events = await fleet.watch(
    path,
    (event) => event.type === 'run.completed' && event.data.runId === run.runId,
  );
  const about = events.filter((event) => event.data.runId === run.runId).map((event) => event.type);
  expect(about.filter((type) => type === 'run.completed')).toHaveLength(1);
  const ended = await fleet.get(`/v1/threads/${threadId}/runs/${run.runId}`);
  expect(ended).toMatchObject({ status: 'success', attempt: 2, path: 'resume' });
  // The conversation moved, too: the new worker knows the messages of the old one.
  expect((await fleet.ask(threadId, 'recall:')).result).toContain('plum');
});

test('after the agent process is killed during a turn, the same worker resumes and ends the run once', async () => {
  const fleet = await openFleet({
    env: { ...env, HARNESS_PLUGINS: new URL('../suicide-plugin.ts', import.meta.url).pathname },
  });
  const threadId = await fleet.thread();
  await fleet.ask(threadId, 'remember: plum');
  const run = await fleet.ask(threadId, 'call: suicide__kill_agents {}\nsay: never said');
  expect(run).toMatchObject({ status: 'success', attempt: 2, path: 'resume' });
  const recalled = await fleet.ask(threadId, 'recall:');
  expect(recalled).toMatchObject({ path: 'warm', result: expect.stringContaining('plum') });
});

test('a repeated request with the same key causes one run and one turn', async () => {
  const fleet = await sharedFleet();
  const threadId = await fleet.thread();
  const headers = { 'idempotency-key': 'once' };
  const sent = await Promise.all([1, 2, 3].map(() => fleet.send(threadId, 'say: once', headers)));
  expect(new Set(sent.map((run) => run.runId)).size).toBe(1);
  await fleet.watch(`/v1/threads/${threadId}/events?follow=true`, (event) => event.type === 'run.completed');
  const { runs } = await fleet.get<{ runs: { attempt: number; result: string }[] }>(
    `/v1/threads/${threadId}/runs`,
  );
  expect(runs).toMatchObject([{ attempt: 1, result: 'once' }]);
});

test('a running run is cancelled, and the thread keeps its session', async () => {
  const fleet = await sharedFleet();
  const threadId = await fleet.thread();
  await fleet.ask(threadId, 'remember: plum');
  const path = `/v1/threads/${threadId}/events?follow=true`;
  const begun = fleet.watch(path, (event) => event.type === 'agent.message_delta');
  const run = await fleet.send(threadId, 'say: started\nhang:');
  await begun;
  await fleet.post(`/v1/threads/${threadId}/runs/${run.runId}/cancel`);
  await fleet.watch(path, (event) => event.type === 'run.cancelled');
  expect(await fleet.get(`/v1/threads/${threadId}`)).toMatchObject({ state: 'interrupted' });
  expect(await fleet.ask(threadId, 'recall:')).toMatchObject({
    path: 'warm',
    result: expect.stringContaining('plum'),
  });
});

test('a turn that takes too long ends as timeout; a model failure is a committed error', async () => {
  const fleet = await openFleet({ env: { HARNESS_TURN_TIMEOUT_MS: '3000' } });
  const threadId = await fleet.thread();
  expect(await fleet.ask(threadId, 'say: started\nhang:')).toMatchObject({
    status: 'timeout',
    error: { code: 'turn_timeout' },
  });
  expect(await fleet.ask(threadId, 'fail: 400')).toMatchObject({
    status: 'error',
    error: { code: 'model_error' },
  });
  expect(await fleet.ask(threadId, 'say: still here')).toMatchObject({
    status: 'success',
    result: 'still here',
  });
});

test('several workers answer the messages of one thread in order, one at a time', async () => {
  const fleet = await openFleet({ workers: 2 });
  const threads = await Promise.all([1, 2, 3].map(() => fleet.thread()));
  for (let n = 0; n < 5; n++) await Promise.all(threads.map((threadId) => fleet.send(threadId, `say: ${n}`)));
  for (const threadId of threads) {
    let ended = 0;
    const seen = await fleet.watch(
      `/v1/threads/${threadId}/events?follow=true`,
      (event) => event.type === 'run.completed' && ++ended === 5,
    );
    const turns = seen.filter((event) => /^run\.(started|completed)$/.test(event.type));
    expect(turns.map((event) => event.type)).toEqual(
      Array.from({ length: 5 }, () => ['run.started', 'run.completed']).flat(),
    );
    expect(turns.flatMap((event) => event.data.result ?? [])).toEqual(['0', '1', '2', '3', '4']);
  }
});

test('a worker that is stopped finishes its turn; another worker takes the waiting messages', async () => {
  const fleet = await openFleet();
  const threadId = await fleet.thread();
  const path = `/v1/threads/${threadId}/events?follow=true`;
  const begun = fleet.watch(path, (event) => event.type === 'agent.message_delta');
  await fleet.send(threadId, 'stream: 100\nsay: finished');
  await fleet.send(threadId, 'say: next');
  await begun;
  const [first] = fleet.workers;
  await Promise.all([first?.end(40_000), fleet.addWorker()]);
  let ended = 0;
  await fleet.watch(path, (event) => event.type === 'run.completed' && ++ended === 2);
  const { runs } = await fleet.get<{ runs: { attempt: number; status: string }[] }>(
    `/v1/threads/${threadId}/runs`,
  );
  expect(runs.map(({ attempt, status }) => [attempt, status])).toEqual([
    [1, 'success'],
    [1, 'success'],
  ]);
});
