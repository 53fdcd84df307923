/**
 * This release on the data of a release without data versions (version 1) that was killed; data/make-data.ts describes
 * it. Nothing in the dump expires, and the retention below is the maximum, so the age of the dump does not matter.
 */
import type { BusAssignment, BusTaskDetail, Run, Task, Thread } from '@harness/contracts';
import { connectRedis, createLogger } from '@harness/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useDump } from '../data/use-dump.ts';
import { openFleet, type TestFleet } from '../open-fleet.ts';

const tenYearsMs = String(10 * 365 * 86_400_000);
let fleet: TestFleet;
let close: () => Promise<void>;
beforeAll(async () => {
  fleet = await openFleet({
    prepare: (dir) => useDump(dir, 'version-1.rdb'),
    // Long enough to acknowledge an assignment below on a slow machine.
    env: { HARNESS_RETENTION_MS: tenYearsMs, HARNESS_BUS_ACK_MS: '3600000' },
    onEnd(end) {
      close = end;
    },
  });
}, 60_000);
afterAll(() => close?.(), 60_000);

/** The thread with this name in make-data.ts. */
async function threadOf(is: string): Promise<string> {
  const { threads } = await fleet.get<{ threads: Thread[] }>('/v1/threads?metadata=true');
  const found = threads.find(({ metadata }) => metadata?.is === is);
  if (!found) throw new Error(`There is no thread that is "${is}".`);
  return found.threadId;
}
/** Its runs, oldest first. */
const runsOf = async (threadId: string) =>
  (await fleet.get<{ runs: Run[] }>(`/v1/threads/${threadId}/runs`)).runs.toReversed();

test('the version is recorded', async () => {
  const redis = connectRedis(fleet.redisUrl, { logger: createLogger('test', 'silent'), patience: 'wait' });
  expect(Number(await redis.hget('{h}:version', 'data'))).toBeGreaterThanOrEqual(2);
  redis.disconnect();
});

test('an interrupted run and the waiting messages are finished, in order', async () => {
  const ended = async (is: string) =>
    (await runsOf(await threadOf(is))).map(({ status, result, attempt }) => ({ status, result, attempt }));
  await expect
    .poll(() => ended('is cut'), { timeout: 30_000 })
    .toEqual([
      { status: 'success', result: expect.stringContaining('it went on'), attempt: 2 },
      { status: 'success', result: 'after it', attempt: 1 },
    ]);
  await expect
    .poll(() => ended('waits'), { timeout: 30_000 })
    .toMatchObject([{ status: 'success' }, { status: 'success', result: 'quince' }]);
});

test('conversations are resumed: the model sees the earlier messages', async () => {
  for (const [is, word] of [
    ['named', 'fig'],
    ['briefed', 'plum'],
  ] as const) {
    const run = await fleet.ask(await threadOf(is), 'recall:');
    expect(run).toMatchObject({ status: 'success', path: 'resume', result: word });
  }
  expect(await threadOf('named')).toBe(`thr_${'17'.repeat(16)}`);
});

test('open tasks end, one in its turn and one in review, and their parent is notified', async () => {
  const parent = await threadOf('delegates');
  const tasks = async () => (await fleet.get<{ tasks: Task[] }>('/v1/tasks')).tasks;
  await expect
    .poll(async () => (await tasks()).map(({ status, verdict }) => ({ status, verdict })), {
      timeout: 30_000,
    })
    .toEqual(Array(3).fill({ status: 'completed', verdict: 'satisfied' }));
  expect((await tasks()).map(({ result }) => /the \w+ report/.exec(result ?? '')?.[0]).sort()).toEqual([
    'the first report',
    'the second report',
    'the third report',
  ]);
  await expect
    .poll(async () => (await runsOf(parent)).map(({ kind, status }) => ({ kind, status })), {
      timeout: 30_000,
    })
    .toEqual(Array(2).fill({ kind: 'notification', status: 'success' }));
});

test('bus tasks keep their states, and can be finished', async () => {
  const stateOf = async (taskId: string) => (await fleet.get<BusTaskDetail>(`/v1/bus/tasks/${taskId}`)).state;
  const end = (taskId: string, body: object) => fleet.post(`/v1/bus/tasks/${taskId}/done`, body);
  expect(await stateOf('b-blocked')).toBe('blocked');
  expect(await stateOf('b-dead')).toBe('dead');
  await expect(end('b-done', { name: 'w-b-done', result: { said: 'done' } })).resolves.toBeTruthy();

  // Workers are identified by name; an acknowledgement may arrive after the upgrade.
  await fleet.post('/v1/bus/tasks/b-assigned/ack', { name: 'w-b-assigned' });
  await end('b-assigned', { name: 'w-b-assigned', result: 1 });
  await end('b-working', { name: 'w-b-working', result: 2 });

  await fleet.post('/v1/bus/tasks/b-blocked/retry');
  for (const expected of ['b-queued', 'b-blocked']) {
    const { taskId, lease } = await fleet.post<BusAssignment>('/v1/bus/workers/w-b-done/poll', {
      timeoutMs: 10_000,
    });
    expect(taskId).toBe(expected);
    await fleet.post(`/v1/bus/tasks/${taskId}/ack`, { name: 'w-b-done', lease });
    await end(taskId, { name: 'w-b-done', lease, result: 3 });
  }
  for (const taskId of ['b-done', 'b-assigned', 'b-working', 'b-queued', 'b-blocked'])
    expect(await stateOf(taskId)).toBe('done');
});

test('events, plugin states, lists and metrics can be read', async () => {
  const delegated = await threadOf('delegated');
  const events = await fleet.watch(
    `/v1/threads/${delegated}/events?follow=true&children=true`,
    ({ type }) => type === 'stream.replayed',
  );
  expect(events.map(({ type }) => type)).toContain('task.completed');
  const { plugins } = await fleet.get<{ plugins: { name: string; enabled: boolean }[] }>('/v1/plugins');
  expect(plugins.find(({ name }) => name === 'context')).toMatchObject({ enabled: false });
  const response = await fetch(`${fleet.url}/metrics`);
  expect(await response.text()).toMatch(/^harness_mail_gaps_total 0$/m);
  const { tasks } = await fleet.get<{ tasks: { taskId: string }[] }>('/v1/bus/tasks');
  expect(tasks).toHaveLength(6);
});
