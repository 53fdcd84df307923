import { expect, test } from 'vitest';
import { reviewOf, scriptAt } from '../../src/index.ts';
import { beginTurn, openBench } from '../fixture.ts';
import { accept, endWork, kindsOf, openParent, tenant } from '../task-fixture.ts';

test('a task is done only when the tasks below it are: each continues with the result of the one below', async () => {
  const bench = await openBench();
  const { delegate, parentThreadId } = await openParent(bench);
  const { tasks } = bench.dispatch;
  const { task } = await delegate('toolu_1');
  const below = await tasks.create({ tenant, prompt: 'deeper', parentThreadId: task.threadId });
  const me = await bench.alive('wrk_a');

  expect(await endWork(bench, { threadId: task.threadId, me }, 'I have delegated it')).toBe('delegate');
  expect(await tasks.get(tenant, task.taskId)).toMatchObject({ status: 'working' });
  expect(await kindsOf(bench, task.threadId)).toEqual(['delegate']); // nothing to review yet

  await endWork(bench, { threadId: below.task.threadId, me }, 'the answer');
  await accept(bench, below.task.threadId, me);
  expect(await endWork(bench, { threadId: task.threadId, me }, 'It is the answer')).toBe('notification');
  expect(await accept(bench, task.threadId, me)).toBe('It is the answer');
  expect(await tasks.get(tenant, task.taskId)).toMatchObject({ status: 'completed' });
  expect(await kindsOf(bench, parentThreadId)).toEqual(['message', 'notification']);
});

test('an unread notification from a task below is handled before the review', async () => {
  const bench = await openBench();
  const { delegate } = await openParent(bench);
  const { task } = await delegate('toolu_1');
  const me = await bench.alive('wrk_a');
  const turn = await beginTurn(bench, task.threadId, me);
  const below = await bench.dispatch.tasks.create({
    tenant,
    prompt: 'deeper',
    parentThreadId: task.threadId,
  });
  await endWork(bench, { threadId: below.task.threadId, me }, 'the answer');
  await accept(bench, below.task.threadId, me); // while the parent’s turn still runs
  const change = { taskId: task.taskId, iteration: 1, set: { phase: 'review', result: 'too early' } };
  await bench.dispatch.lease.commit(turn, {
    status: 'success',
    result: 'too early',
    mail: [reviewOf(task, 'too early', turn.runId)],
    task: change,
  });
  expect(await endWork(bench, { threadId: task.threadId, me }, 'with the answer')).toBe('notification');
  expect(await accept(bench, task.threadId, me)).toBe('with the answer');
});

test('an interrupting message does not drop a notification that a task waits for', async () => {
  const bench = await openBench();
  const { delegate } = await openParent(bench);
  const { task } = await delegate('toolu_1');
  const { threadId } = task;
  const me = await bench.alive('wrk_a');
  const below = await bench.dispatch.tasks.create({ tenant, prompt: 'deeper', parentThreadId: threadId });
  await endWork(bench, { threadId, me }, 'waiting');
  await endWork(bench, { threadId: below.task.threadId, me }, 'the answer');
  await accept(bench, below.task.threadId, me);
  const waiting = await beginTurn(bench, threadId, me);
  expect(waiting).toMatchObject({ kind: 'notification', task: { taskId: task.taskId } });
  await bench.dispatch.runs.append({
    tenant,
    threadId,
    request: { input: 'stop', multitaskStrategy: 'interrupt' },
    idempotencyKey: 'stop',
  });
  const emitted = await bench.dispatch.lease.emit(waiting, { counter: 1, events: [] });
  expect(emitted).toEqual({ lost: false, cancel: false, interrupt: false });
});

test('a task whose notification from below was lost with a torn log continues to its review', async () => {
  const bench = await openBench();
  const { delegate } = await openParent(bench);
  const { task } = await delegate('toolu_1');
  const me = await bench.alive('wrk_a');
  const below = await bench.dispatch.tasks.create({
    tenant,
    prompt: 'deeper',
    parentThreadId: task.threadId,
  });
  await endWork(bench, { threadId: task.threadId, me }, 'so far');
  const { keys, scripts } = bench.dispatch;
  const repair = () =>
    scripts.call<{ outcome: string }>(scriptAt('worker/repair-task'), {
      taskId: task.taskId,
      runId: 'run_again',
    });
  expect(await repair()).toMatchObject({ outcome: 'fine' });
  await bench.redis.del(keys.of('task', below.task.taskId)); // torn: its parent's list still has it
  expect(await repair()).toMatchObject({ outcome: 'ok' });
  expect(await accept(bench, task.threadId, me)).toBe('so far');
});

test('a task that fails cancels the tasks below it', async () => {
  const bench = await openBench();
  const { delegate } = await openParent(bench);
  const { tasks, lease } = bench.dispatch;
  const { task } = await delegate('toolu_1');
  const below = await tasks.create({ tenant, prompt: 'deeper', parentThreadId: task.threadId });
  const turn = await beginTurn(bench, task.threadId, await bench.alive('wrk_a'));
  const set = { status: 'failed', verdict: 'failed' };
  await lease.commit(turn, { status: 'error', task: { taskId: task.taskId, iteration: 1, set } });
  expect(await tasks.get(tenant, below.task.taskId)).toMatchObject({ status: 'cancelled' });
});

test('deleting the thread of an open task notifies its parent, once', async () => {
  const bench = await openBench();
  const { delegate, parentThreadId } = await openParent(bench);
  const { tasks, threads } = bench.dispatch;
  const { task } = await delegate('toolu_1');
  const below = await tasks.create({ tenant, prompt: 'deeper', parentThreadId: task.threadId });
  await threads.delete(tenant, task.threadId);
  for (const { taskId } of [task, below.task])
    expect(await tasks.get(tenant, taskId)).toMatchObject({ status: 'cancelled' });
  const [notification, ...others] = await bench.dispatch.runs.list(parentThreadId, { limit: 50, offset: 0 });
  expect(others).toHaveLength(1);
  expect(notification?.kind).toBe('notification');
  expect(await bench.redis.hget(bench.dispatch.keys.of('run', notification?.runId ?? ''), 'input')).toContain(
    `${task.taskId} was cancelled`,
  );
});
