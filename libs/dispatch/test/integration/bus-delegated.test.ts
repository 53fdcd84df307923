import type { Task } from '@harness/contracts';
import { expect, test } from 'vitest';
import { feedbackOf, scriptAt } from '../../src/index.ts';
import { openBus, refusalOf } from '../bus-fixture.ts';
import { beginTurn } from '../fixture.ts';

const tenant = 'acme';

async function openDelegation(limits = {}) {
  const house = await openBus(limits);
  const { dispatch, register, benches } = house;
  const bench = benches[0] as (typeof benches)[0];
  const { thread } = await dispatch.threads.create(tenant, {});
  const parentThreadId = thread.threadId;
  await register('w');
  const delegate = async (prompt = 'count') =>
    (await dispatch.tasks.create({ tenant, prompt, parentThreadId, target: 'bus' })).task;
  const me = await bench.alive('wrk_a');
  /** The review that waits in the task's own thread. */
  const review = (task: Task) => beginTurn(bench, task.threadId, me);
  const runsOf = async (threadId: string) =>
    (await dispatch.runs.list(threadId, { limit: 9, offset: 0 })).map(({ kind }) => kind).reverse();
  return { ...house, bench, parentThreadId, delegate, review, runsOf, tasks: dispatch.tasks };
}

test('the work of a delegated task is queued on the bus, and its result goes to review', async () => {
  const { bus, delegate, takeAndAck, review, runsOf, tasks, dispatch } = await openDelegation();
  const task = await delegate('count to ten');
  expect(task).toMatchObject({ target: 'bus', status: 'working', iteration: 1 });
  expect(await runsOf(task.threadId)).toEqual([]);
  const given = await takeAndAck('w');
  expect(given).toMatchObject({
    taskId: `${task.taskId}.1`,
    payload: { prompt: 'count to ten', iteration: 1 },
  });
  await bus.done({ tenant, taskId: given.taskId, lease: given.lease }, 'ten');
  await bus.done({ tenant, taskId: given.taskId, lease: given.lease }, 'ten');
  expect(await runsOf(task.threadId)).toEqual(['review']);
  const turn = await review(task);
  expect(turn).toMatchObject({
    kind: 'review',
    input: 'ten',
    failure: undefined,
    task: { taskId: task.taskId },
  });
  // Rejected: the feedback becomes work for the bus again, not mail to a session.
  const change = {
    taskId: task.taskId,
    iteration: 1,
    set: { phase: 'turn', iteration: 2, feedback: 'more' },
  };
  const rejection = {
    status: 'success',
    task: change,
    mail: [feedbackOf(task, 'more', turn.runId)],
  } as const;
  await dispatch.lease.commit(turn, { ...rejection, mail: [...rejection.mail] });
  expect(await runsOf(task.threadId)).toEqual(['review']);
  const again = await takeAndAck('w');
  expect(again).toMatchObject({
    taskId: `${task.taskId}.2`,
    payload: { prompt: expect.stringContaining('\n> more\n'), iteration: 2 },
  });
  await bus.done({ tenant, taskId: again.taskId, lease: again.lease }, { structured: true });
  expect(await review(task)).toMatchObject({ input: '{"structured":true}' });
  expect(await tasks.get(tenant, task.taskId)).toMatchObject({ iteration: 2, result: '{"structured":true}' });
});

test('an external worker’s failure, or a dead bus task, is mail that fails the delegated task', async () => {
  const { bus, delegate, takeAndAck, review } = await openDelegation({ busSilentMs: -1, busMaxLosses: 1 });
  const failing = await delegate();
  const given = await takeAndAck('w');
  await bus.failed({ tenant, taskId: given.taskId, lease: given.lease }, 'no disk');
  expect(await review(failing)).toMatchObject({
    kind: 'review',
    failure: { code: 'task_failed', message: expect.stringContaining('no disk') },
  });
  const dying = await delegate('another');
  await takeAndAck('w');
  await bus.sweep();
  expect(await review(dying)).toMatchObject({ failure: { code: 'attempts_exhausted' } });
});

test('cancelling a delegated task, or deleting a thread above it, withdraws its work', async () => {
  const { bus, delegate, takeAndAck, stateOfWorker, tasks, states, dispatch, parentThreadId } =
    await openDelegation();
  const task = await delegate();
  const given = await takeAndAck('w');
  const waiting = await delegate('another');
  await tasks.cancel(tenant, task.taskId);
  expect(await states()).toEqual({ [`${task.taskId}.1`]: 'withdrawn', [`${waiting.taskId}.1`]: 'queued' });
  expect(await stateOfWorker('w')).toBe('idle');
  const hold = { tenant, taskId: given.taskId, lease: given.lease };
  expect(await refusalOf(bus.heartbeat({ ...hold, name: 'w' }))).toBe('wrong_state: withdrawn');
  expect(await refusalOf(bus.done(hold, 'late'))).toBe('wrong_state: withdrawn');
  await dispatch.threads.delete(tenant, parentThreadId);
  expect(await states()).toMatchObject({ [`${waiting.taskId}.1`]: 'withdrawn' });
  expect(await bus.poll({ tenant, name: 'w', timeoutMs: 0 })).toBeNull();
});

test('delegated work can be retried while a worker has it, but not after its task has failed with it', async () => {
  const { bus, delegate, takeAndAck } = await openDelegation();
  await delegate();
  const given = await takeAndAck('w');
  expect(await bus.retry(tenant, given.taskId)).toMatchObject({ before: 'in_progress', state: 'queued' });
  const second = await takeAndAck('w');
  await bus.failed({ tenant, taskId: second.taskId, lease: second.lease }, 'no');
  expect(await refusalOf(bus.retry(tenant, given.taskId))).toBe('wrong_state');
});

test('delegated work and outcomes that a torn log lost are sent again', async () => {
  const { bus, delegate, takeAndAck, dispatch, redis, runsOf, states } = await openDelegation();
  const task = await delegate();
  const id = `${task.taskId}.1`;
  const repair = () =>
    dispatch.scripts.call(scriptAt('worker/repair-task'), {
      taskId: task.taskId,
      runId: `run_${'0'.repeat(32)}`,
    });
  expect(await repair()).toEqual({ outcome: 'fine' });
  await redis.del(dispatch.keys.of('bt', `${tenant}:${id}`));
  await repair();
  expect(await states()).toEqual({ [id]: 'queued' });
  const given = await takeAndAck('w');
  await bus.done({ tenant, taskId: id, lease: given.lease }, 'x');
  // The result is stored; the mail, and the changes made with it, are missing.
  await redis.del(dispatch.keys.of('mb', task.threadId), dispatch.keys.of('sent', `${id}:review`));
  await redis.hset(dispatch.keys.of('task', task.taskId), 'phase', 'turn');
  await repair();
  expect(await runsOf(task.threadId)).toContain('review');
});

test('a full bus takes no delegated task either', async () => {
  const { delegate, submit, dispatch } = await openDelegation({ busMaxTasks: 1 });
  await submit('t');
  expect(await refusalOf(delegate())).toBe('bus_full');
  expect(await dispatch.tasks.list(tenant, { limit: 9, offset: 0 })).toEqual([]);
});
