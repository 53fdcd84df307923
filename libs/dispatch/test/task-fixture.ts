import { expect } from 'vitest';
import { notificationOf, reviewOf } from '../src/index.ts';
import { type Bench, beginTurn } from './fixture.ts';

/** The tenant of all tests here. */
export const tenant = 'default';

/** A parent thread with one message, and a function that delegates from its turn. */
export async function openParent(bench: Bench) {
  const { thread } = await bench.dispatch.threads.create(tenant, { allowedTools: ['time__current_time'] });
  const parentThreadId = thread.threadId;
  const { run } = await bench.dispatch.runs.append({
    tenant,
    threadId: parentThreadId,
    request: { input: 'go' },
    idempotencyKey: 'go',
  });
  const delegate = (toolUseId: string, prompt = 'count', attempt = 1) =>
    bench.dispatch.tasks.create({
      tenant,
      prompt,
      parentThreadId,
      call: { runId: run.runId, toolUseId, attempt },
    });
  return { parentThreadId, run, delegate };
}

/** The kinds of a thread's runs, oldest first. */
export const kindsOf = async (bench: Bench, threadId: string) =>
  (await bench.dispatch.runs.list(threadId, { limit: 50, offset: 0 })).map((run) => run.kind).reverse();

/** Ends the next turn of a task's thread with a result, as a worker does. */
export async function endWork(
  bench: Bench,
  { threadId, me }: { threadId: string; me: string },
  result: string,
) {
  const turn = await beginTurn(bench, threadId, me);
  const { task } = turn;
  if (!task) throw new Error(`not the task's: ${turn.kind}`);
  await bench.dispatch.lease.commit(turn, {
    status: 'success',
    result,
    mail: [reviewOf(task, result, turn.runId)],
    task: { taskId: task.taskId, iteration: task.iteration, set: { phase: 'review', result } },
  });
  return turn.kind;
}

/** Lets the review of a task's result accept it. */
export async function accept(bench: Bench, threadId: string, me: string) {
  const turn = await beginTurn(bench, threadId, me);
  expect(turn.kind).toBe('review');
  const { task } = turn;
  if (!task) throw new Error('a review without a task');
  const end = { status: 'completed', verdict: 'satisfied', text: turn.input } as const;
  const notification = notificationOf(task, end, `${turn.runId}:notification`);
  await bench.dispatch.lease.commit(turn, {
    status: 'success',
    mail: notification ? [notification] : [],
    task: { taskId: task.taskId, iteration: task.iteration, set: { status: 'completed' } },
  });
  return turn.input;
}
