import { expect, test } from 'vitest';
import { feedbackOf, notificationOf, reviewOf, scriptAt } from '../../src/index.ts';
import { beginTurn, openBench } from '../fixture.ts';
import { kindsOf, openParent, tenant } from '../task-fixture.ts';

test('one tool call makes one task, however often it is sent', async () => {
  const bench = await openBench();
  const { delegate, parentThreadId } = await openParent(bench);
  const first = await delegate('toolu_1');
  expect(first).toMatchObject({ existing: false, task: { status: 'working', iteration: 1, parentThreadId } });
  expect(await delegate('toolu_1')).toEqual({ task: first.task, existing: true });
  // The same delegation under a new id, from a later attempt or because the tool result never arrived, is the
  // same task.
  expect(await delegate('toolu_2')).toEqual({ task: first.task, existing: true });
  expect(await delegate('toolu_3', 'count', 2)).toEqual({ task: first.task, existing: true });
  expect((await delegate('toolu_4', 'something else')).existing).toBe(false);
});

test('a second equal delegation is a new task once the model has seen the result of the first', async () => {
  const bench = await openBench();
  const { delegate, parentThreadId } = await openParent(bench);
  const turn = await beginTurn(bench, parentThreadId, await bench.alive('wrk_a'));
  const first = await delegate('toolu_1');
  await bench.dispatch.lease.emit(turn, {
    counter: 1,
    events: [{ type: 'agent.tool_result', delivered: 'toolu_1' }],
  });
  expect((await delegate('toolu_2')).task.taskId).not.toBe(first.task.taskId);
});

test('a rejected result is sent back; an accepted one ends the task and notifies the parent', async () => {
  const bench = await openBench();
  const { delegate, parentThreadId } = await openParent(bench);
  const { lease, tasks } = bench.dispatch;
  const { task } = await delegate('toolu_1');
  const me = await bench.alive('wrk_a');
  const { taskId, threadId } = task;

  const work = async () => {
    const turn = await beginTurn(bench, threadId, me);
    const current = turn.task ?? task;
    const change = { taskId, iteration: current.iteration, set: { phase: 'review', result: 'r' } };
    await lease.commit(turn, {
      status: 'success',
      result: 'r',
      mail: [reviewOf(current, 'r', turn.runId)],
      task: change,
    });
  };
  await work();
  const rejected = await beginTurn(bench, threadId, me);
  await lease.commit(rejected, {
    status: 'success',
    mail: [feedbackOf(task, 'more', rejected.runId)],
    task: {
      taskId,
      iteration: 1,
      set: { phase: 'turn', iteration: 2, verdict: 'needs_revision', feedback: 'more' },
    },
  });
  expect(await tasks.get(tenant, taskId)).toMatchObject({
    iteration: 2,
    verdict: 'needs_revision',
    status: 'working',
  });
  await work();
  const accepted = await beginTurn(bench, threadId, me);
  const end = { status: 'completed', verdict: 'satisfied', text: 'r' } as const;
  const notification = notificationOf(await tasks.get(tenant, taskId), end, `${accepted.runId}:notification`);
  await lease.commit(accepted, {
    status: 'success',
    mail: notification ? [notification] : [],
    task: { taskId, iteration: 2, set: { status: 'completed', verdict: 'satisfied' } },
  });

  expect(await tasks.get(tenant, taskId)).toMatchObject({
    status: 'completed',
    verdict: 'satisfied',
    iteration: 2,
  });
  expect(await kindsOf(bench, threadId)).toEqual(['delegate', 'review', 'feedback', 'review']);
  expect(await kindsOf(bench, parentThreadId)).toEqual(['message', 'notification']);
  const seen = (await bench.dispatch.events.read({ threadId: parentThreadId }, undefined, 100)).map(
    (e) => e.type,
  );
  expect(seen).toContain('task.created');
  expect(seen).toContain('task.completed');
});

test('a child has no tool that its parent lacks', async () => {
  const bench = await openBench();
  const { delegate } = await openParent(bench);
  const { task } = await delegate('toolu_1');
  const turn = await beginTurn(bench, task.threadId, await bench.alive('wrk_a'));
  expect(turn.allowedTools).toEqual(['time__current_time']);
});

test('depth, fan-out and the chain from one message are bounded', async () => {
  const bench = await openBench({ maxChildren: 3, maxChain: 4, maxDepth: 2 });
  const { delegate } = await openParent(bench);
  const { task } = await delegate('toolu_0', 'task 0');
  for (const n of [1, 2]) await delegate(`toolu_${n}`, `task ${n}`);
  await expect(delegate('toolu_3', 'task 3')).rejects.toMatchObject({ code: 'too_many_children' });

  const below = (parentThreadId: string) =>
    bench.dispatch.tasks.create({ tenant, prompt: 'deeper', parentThreadId });
  const child = await below(task.threadId);
  await expect(below(child.task.threadId)).rejects.toMatchObject({ code: 'task_depth_exceeded' });
  await expect(below(task.threadId)).rejects.toMatchObject({ code: 'task_chain_exceeded' });
});

test('cancelling a task cascades, and its parent is notified once', async () => {
  const bench = await openBench();
  const { delegate, parentThreadId } = await openParent(bench);
  const { tasks } = bench.dispatch;
  const { task } = await delegate('toolu_1');
  const grandchild = await tasks.create({ tenant, prompt: 'deeper', parentThreadId: task.threadId });
  for (const _ of [1, 2]) await tasks.cancel(tenant, task.taskId);
  expect(await tasks.get(tenant, task.taskId)).toMatchObject({ status: 'cancelled', verdict: 'interrupted' });
  expect(await tasks.get(tenant, grandchild.task.taskId)).toMatchObject({ status: 'cancelled' });
  expect(await kindsOf(bench, parentThreadId)).toEqual(['message', 'notification']);
  const held = await bench.dispatch.lease.claim(grandchild.task.threadId, await bench.alive('wrk_a'));
  if (held.outcome !== 'mine') throw new Error(held.outcome);
  expect((await bench.dispatch.lease.begin(held.hold, 'n')).outcome).toBe('cancelled');
});

test('a cancelled run creates no task, not even by a call in progress', async () => {
  const bench = await openBench();
  const { delegate, parentThreadId } = await openParent(bench);
  const { tasks } = bench.dispatch;
  const { task } = await delegate('toolu_1');
  const turn = await beginTurn(bench, task.threadId, await bench.alive('wrk_a'));
  await tasks.cancel(tenant, task.taskId);
  const call = { runId: turn.runId, toolUseId: 'toolu_2', attempt: 1 };
  const late = tasks.create({ tenant, prompt: 'too late', parentThreadId: task.threadId, call } as never);
  await expect(late).rejects.toMatchObject({ code: 'turn_cancelled' });
  expect(await tasks.ofThread(tenant, parentThreadId)).toHaveLength(1);
});

test('deleting a thread deletes everything below it and leaves no key behind', async () => {
  const bench = await openBench();
  const { delegate, parentThreadId } = await openParent(bench);
  const { task } = await delegate('toolu_1');
  await bench.dispatch.threads.delete(tenant, parentThreadId);
  await expect(bench.dispatch.threads.get(tenant, task.threadId)).rejects.toMatchObject({
    code: 'thread_not_found',
  });
  const found = [
    ...(await bench.redis.keys(`*${parentThreadId}*`)),
    ...(await bench.redis.keys(`*${task.threadId}*`)),
  ];
  // Doorbells and idempotency keys expire soon.
  expect(found.filter((key) => !/:(bull|idem):/.test(key))).toEqual([]);
});

test('a task whose mail was lost with a torn log gets its mail again', async () => {
  const bench = await openBench();
  const { delegate } = await openParent(bench);
  const { task } = await delegate('toolu_1');
  const { keys, scripts } = bench.dispatch;
  await bench.redis.xdel(keys.of('mb', task.threadId), '1-0');
  const found = await scripts.call(scriptAt('worker/sweep'), {
    graceMs: 0,
    busyGraceMs: 0,
    taskGraceMs: -1,
    count: 10,
  });
  expect(found).toMatchObject({ tasks: [task.taskId] });
  await scripts.call(scriptAt('worker/repair-task'), { taskId: task.taskId, runId: 'run_again' });
  expect(await beginTurn(bench, task.threadId, await bench.alive('wrk_a'))).toMatchObject({
    input: 'count',
    kind: 'delegate',
  });
});

test('feedback that was lost with a torn log is sent again unchanged', async () => {
  const bench = await openBench();
  const { delegate } = await openParent(bench);
  const { taskId, threadId } = (await delegate('toolu_1')).task;
  const me = await bench.alive('wrk_a');
  const turn = await beginTurn(bench, threadId, me);
  const mail = feedbackOf(await bench.dispatch.tasks.get(tenant, taskId), 'call: x', turn.runId);
  const set = { phase: 'turn', iteration: 2, verdict: 'needs_revision', feedback: 'call: x' };
  await bench.dispatch.lease.commit(turn, {
    status: 'success',
    mail: [mail],
    task: { taskId, iteration: 1, set },
  });
  const { keys, scripts } = bench.dispatch;
  await bench.redis.del(keys.of('mb', threadId));
  await scripts.call(scriptAt('worker/repair-task'), { taskId, runId: 'run_again' });
  expect(await beginTurn(bench, threadId, me)).toMatchObject({ kind: 'feedback', input: mail.input });
  expect(mail.input).toContain('> call: x');
});

test('a thread lists only the tasks that it has delegated', async () => {
  const bench = await openBench();
  const one = await openParent(bench);
  const { thread } = await bench.dispatch.threads.create(tenant, {});
  await bench.dispatch.tasks.create({ tenant, prompt: 'x', parentThreadId: thread.threadId });
  const [first, second] = [await one.delegate('a', 'first'), await one.delegate('b', 'second')];
  const ids = (await bench.dispatch.tasks.ofThread(tenant, one.parentThreadId)).map(({ taskId }) => taskId);
  expect(new Set(ids)).toEqual(new Set([first.task.taskId, second.task.taskId]));
  expect(await bench.dispatch.tasks.ofThread('other', one.parentThreadId)).toEqual([]);
});
