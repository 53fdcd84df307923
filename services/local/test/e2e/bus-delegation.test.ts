import type { BusAssignment } from '@harness/contracts';
import { expect, test } from 'vitest';
import { openFleet, type TestFleet } from '../open-fleet.ts';

/** An external worker that takes its next task and ends it with this result. */
async function work(fleet: TestFleet, end: { result: string } | { reason: string }): Promise<BusAssignment> {
  const task = await fleet.post<BusAssignment>('/v1/bus/workers/w/poll', { timeoutMs: 60_000 });
  const path = `/v1/bus/tasks/${task.taskId}`;
  await fleet.post(`${path}/ack`, { name: 'w', lease: task.lease });
  await fleet.post('reason' in end ? `${path}/failed` : `${path}/done`, { ...end, lease: task.lease });
  return task;
}

const promptOf = ({ payload }: BusAssignment) => (payload as { prompt: string }).prompt;

test('an agent delegates to the bus: rejected once, accepted, and the parent is notified, as it is of a failure', async () => {
  const fleet = await openFleet();
  const parent = await fleet.thread();
  await fleet.post('/v1/bus/workers', { name: 'w' });
  const ended = (type: string) =>
    fleet.watch(`/v1/threads/${parent}/events?follow=true`, (event) => event.type === type);
  const notified = async () =>
    (
      await fleet.watch(
        `/v1/threads/${parent}/events?follow=true`,
        (event) => event.type === 'run.queued' && event.data.kind === 'notification',
      )
    ).at(-1)?.data.runId;

  const run = await fleet.ask(
    parent,
    'call: delegation__delegate {"prompt": "count\\nreject: 1", "target": "bus"}\nsay: I have delegated it',
  );
  expect(run.result).toContain('I have delegated it');
  const first = await work(fleet, { result: 'one' });
  expect(promptOf(first)).toBe('count\nreject: 1');
  const second = await work(fleet, { result: 'two' });
  expect(promptOf(second)).toContain('The reviewer says:');
  await ended('task.completed');
  const taskId = first.taskId.replace(/\.1$/, '');
  expect(second.taskId).toBe(`${taskId}.2`);
  expect(await fleet.task(taskId)).toMatchObject({
    target: 'bus',
    status: 'completed',
    verdict: 'satisfied',
    iteration: 2,
    result: 'two',
  });
  expect(await notified()).toBeTruthy();

  await fleet.ask(parent, 'call: delegation__delegate {"prompt": "hopeless", "target": "bus"}');
  const failed = await work(fleet, { reason: 'there is no such thing' });
  await ended('task.failed');
  expect(await fleet.task(failed.taskId.replace(/\.1$/, ''))).toMatchObject({
    status: 'failed',
    error: { code: 'task_failed', message: expect.stringContaining('there is no such thing') },
  });
});
