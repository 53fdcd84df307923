import type { Run, ThreadSession, WorkerInfo } from '@harness/contracts';
import { connectRedis, createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openFleet, shareFleet, type TestFleet } from '../open-fleet.ts';

const sharedFleet = shareFleet();

const sessionOf = (fleet: TestFleet, threadId: string) =>
  fleet.get<ThreadSession>(`/v1/threads/${threadId}/session`);

const warmed = (fleet: TestFleet, threadId: string) =>
  fleet.watch(`/v1/threads/${threadId}/events?follow=true`, (event) => event.type === 'session.warm');

test('the first message of a prewarmed thread is warm, however often and under either name it was prewarmed', async () => {
  const fleet = await sharedFleet();
  const threadId = await fleet.thread();
  const warm = warmed(fleet, threadId);
  const first = await fleet.post(`/v1/threads/${threadId}/prewarm`);
  expect(first).toMatchObject({ threadId, state: expect.any(String) });
  await Promise.all([
    fleet.post('/api/prewarm', { threadId }),
    fleet.post(`/v1/threads/${threadId}/prewarm`),
  ]);
  await warm;
  expect(await sessionOf(fleet, threadId)).toMatchObject({
    state: 'warm',
    workerId: fleet.workers[0]?.ready.workerId,
    expiresAt: expect.any(String),
  });
  const run = await fleet.ask(threadId, 'call: time__current_time {}');
  expect(run).toMatchObject({ path: 'warm', result: expect.stringContaining('UTC') });
});

test('a message that arrives during the prewarm of its thread shares the session', async () => {
  const fleet = await openFleet();
  const threadId = await fleet.thread();
  const [run] = await Promise.all([
    fleet.ask(threadId, 'say: hello'),
    fleet.post(`/v1/threads/${threadId}/prewarm`),
  ]);
  expect(run.status).toBe('success');
  await expect.poll(async () => (await sessionOf(fleet, threadId)).state).toBe('warm');
  const workers = async () => (await fleet.get<{ workers: WorkerInfo[] }>('/v1/workers')).workers;
  // A worker reports its state with its heartbeat.
  await expect.poll(async () => (await workers())[0]?.sessions).toBe(1);
  const [{ ready }] = fleet.workers as [(typeof fleet.workers)[0], ...unknown[]];
  expect(await workers()).toMatchObject([{ workerId: ready.workerId, draining: false, turns: 1 }]);
});

test('after its worker died a thread can be prewarmed: its conversation is resumed, and warm', async () => {
  const fleet = await openFleet({ workers: 2, env: { HARNESS_WORKER_TTL_MS: '2000' } });
  const threadId = await fleet.thread();
  await fleet.ask(threadId, 'remember: plum');
  const before = await sessionOf(fleet, threadId);
  fleet.workers.find((worker) => worker.ready.workerId === before.workerId)?.process.kill('SIGKILL');
  await expect.poll(async () => (await sessionOf(fleet, threadId)).workerId).toBeNull();
  const warm = warmed(fleet, threadId);
  await fleet.post(`/v1/threads/${threadId}/prewarm`);
  await warm;
  const after = await sessionOf(fleet, threadId);
  expect(after.workerId).not.toBe(before.workerId);
  expect(after.epoch).toBeGreaterThan(before.epoch);
  const run = await fleet.ask(threadId, 'recall:');
  expect(run).toMatchObject({ path: 'warm', result: expect.stringContaining('plum') });
});

test('a new thread gets a spare session, with its tools and its transcript', async () => {
  const fleet = await openFleet({ env: { HARNESS_SPARES: '1' } });
  const spares = async () => (await fleet.get<{ workers: WorkerInfo[] }>('/v1/workers')).workers[0]?.spares;
  await expect.poll(spares, { timeout: 15_000 }).toBe(1);
  const threadId = await fleet.thread();
  const run = await fleet.ask(threadId, 'remember: plum\ncall: time__current_time {}');
  expect(run).toMatchObject({ path: 'spare', status: 'success', result: expect.stringContaining('UTC') });
  await expect.poll(spares, { timeout: 15_000 }).toBe(1); // another spare was started
  const [worker] = fleet.workers;
  await Promise.all([worker?.end(40_000), fleet.addWorker()]);
  expect(await fleet.ask(threadId, 'recall:')).toMatchObject({
    path: 'resume',
    result: expect.stringContaining('plum'),
  });
});

test('a message that interrupts ends the running turn and the waiting messages, never itself', async () => {
  const fleet = await sharedFleet();
  const threadId = await fleet.thread();
  const path = `/v1/threads/${threadId}/events?follow=true`;
  const begun = fleet.watch(path, (event) => event.type === 'agent.message_delta');
  const first = await fleet.send(threadId, 'say: started\nhang:');
  const second = await fleet.send(threadId, 'say: waiting');
  await begun;
  const third = await fleet.ask(threadId, 'say: now this', { multitaskStrategy: 'interrupt' });
  expect(third).toMatchObject({ status: 'success', result: 'now this' });
  for (const { runId } of [first, second]) {
    expect(await fleet.get(`/v1/threads/${threadId}/runs/${runId}`)).toMatchObject({ status: 'interrupted' });
  }
});

test('a worker that drains finishes its turn and stops; its threads continue on other workers', async () => {
  const fleet = await openFleet();
  const [threadId, busy] = [await fleet.thread(), await fleet.thread()];
  await fleet.ask(threadId, 'remember: plum');
  const { runId } = await fleet.send(busy, 'sleep: 15000\nsay: done'); // longer than a busy machine needs for a resume
  await fleet.watch(`/v1/threads/${busy}/events?follow=true`, ({ type }) => type === 'session.warming');
  const [leaving] = fleet.workers;
  const workerId = leaving?.ready.workerId;
  await fleet.addWorker();
  await fleet.post(`/v1/workers/${workerId}/drain`);
  // Immediately, and not after the end of the other thread's turn.
  expect(await fleet.ask(threadId, 'recall:')).toMatchObject({
    path: 'resume',
    result: expect.stringContaining('plum'),
  });
  expect(leaving?.process.exitCode).toBe(null);
  await leaving?.exited;
  const finished = await fleet.get<Run>(`/v1/threads/${busy}/runs/${runId}`);
  expect(finished).toMatchObject({ status: 'success', result: 'done', attempt: 1 });
  const { workers } = await fleet.get<{ workers: WorkerInfo[] }>('/v1/workers');
  expect(workers.map((worker) => worker.workerId)).not.toContain(workerId);
});

test('a transcript that cannot be written is reported, keeps its thread on its worker, and is completed later', async () => {
  const fleet = await openFleet();
  const redis = connectRedis(fleet.redisUrl, { logger: createLogger('test', 'silent'), patience: 'wait' });
  onTestFinished(() => redis.disconnect());
  const threadId = await fleet.thread();
  await fleet.ask(threadId, 'say: hello');
  const uuids = `{h}:sess:${threadId}:${await redis.hget(`{h}:th:${threadId}`, 'sdkSessionId')}:uuids`;
  await redis.rename(uuids, `${uuids}:away`);
  await redis.set(uuids, 'no set');
  await fleet.ask(threadId, 'remember: plum');
  await expect.poll(async () => (await sessionOf(fleet, threadId)).movable).toBe(false);
  const alarm = async () =>
    Number(
      (await (await fetch(`${fleet.url}/metrics`)).text()).match(
        /^harness_transcript_errors_total (\d+)/m,
      )?.[1],
    );
  await expect.poll(alarm).toBeGreaterThan(0);

  await redis.rename(`${uuids}:away`, uuids);
  await expect.poll(async () => (await sessionOf(fleet, threadId)).movable).toBe(true);
  const [first] = fleet.workers;
  await Promise.all([first?.end(40_000), fleet.addWorker()]);
  expect(await fleet.ask(threadId, 'recall:')).toMatchObject({
    path: 'resume',
    result: expect.stringContaining('plum'),
  });
});
