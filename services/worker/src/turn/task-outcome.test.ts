import type { Task } from '@harness/contracts';
import { expect, test } from 'vitest';
import { afterFailure, afterReview, afterWork } from './task-outcome.ts';

const task: Task = {
  taskId: 'task_1',
  threadId: 'thr_child',
  model: null,
  parentThreadId: 'thr_parent',
  prompt: 'count',
  target: 'fleet',
  status: 'working',
  iteration: 1,
  maxIterations: 2,
  verdict: null,
  feedback: null,
  result: null,
  files: null,
  error: null,
  createdAt: '',
  updatedAt: '',
};
const rejected = { accepted: false, feedback: 'more' } as const;

test('finished work goes to review, as mail to its own thread', () => {
  const { task: change, mail } = afterWork(task, 'run_1', 'done');
  expect(change).toEqual({ taskId: 'task_1', iteration: 1, set: { phase: 'review', result: 'done' } });
  expect(mail).toMatchObject([{ kind: 'review', threadId: 'thr_child', id: 'run_1:review', input: 'done' }]);
});

test('a rejected result goes back with the feedback quoted', () => {
  const { task: change, mail } = afterReview(task, 'run_2', { result: 'done', verdict: rejected });
  expect(change.set).toMatchObject({
    phase: 'turn',
    iteration: 2,
    verdict: 'needs_revision',
    feedback: 'more',
  });
  expect(mail).toMatchObject([
    { kind: 'feedback', iteration: 2, input: expect.stringContaining('\n> more\n') },
  ]);
});

test('an accepted result ends the task and notifies the parent', () => {
  const { task: change, mail } = afterReview(task, 'run_2', { result: 'done', verdict: { accepted: true } });
  expect(change.set).toEqual({ status: 'completed', verdict: 'satisfied' });
  expect(mail).toMatchObject([{ kind: 'notification', threadId: 'thr_parent', id: 'run_2:notification' }]);
});

test('the last rejection is passed on to the parent', () => {
  const { task: change, mail } = afterReview({ ...task, iteration: 2 }, 'run_3', {
    result: 'done',
    verdict: rejected,
  });
  expect(change.set).toEqual({ status: 'completed', verdict: 'max_iterations_reached', feedback: 'more' });
  expect(mail[0]?.input).toContain('> The last review did not accept it: more');
});

test('a failure notifies the parent, if there is one', () => {
  const error = { code: 'model_error', message: 'overloaded' };
  const { task: change, mail } = afterFailure(task, 'run_1', { status: 'error', error });
  expect(change.set).toMatchObject({ status: 'failed', verdict: 'failed' });
  expect(mail[0]?.input).toContain('> model_error: overloaded');
  expect(afterFailure({ ...task, parentThreadId: null }, 'run_1', { status: 'error', error }).mail).toEqual(
    [],
  );
});
