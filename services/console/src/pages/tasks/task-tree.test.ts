import type { Task } from '@harness/contracts';
import { expect, test } from 'vitest';
import { rootThreadOf, treesOf } from './task-tree.ts';

const task = (name: string, parent: string | null, [from, to]: [number, number | null]): Task =>
  ({
    taskId: name,
    threadId: `thread of ${name}`,
    parentThreadId: parent,
    status: to === null ? 'working' : 'completed',
    createdAt: new Date(from).toISOString(),
    updatedAt: new Date(to ?? from).toISOString(),
  }) as Task;

test('a task is below the one whose thread delegated it; a tree has one scale', () => {
  const tasks = [
    task('late', 'a conversation', [900, 950]),
    task('b', 'thread of root', [300, null]),
    task('a', 'thread of root', [200, 250]),
    task('a1', 'thread of a', [210, 240]),
    task('root', null, [100, 400]),
  ];
  expect(
    treesOf(tasks, 1_000).map(({ task: { taskId }, depth, fromMs, toMs }) => [taskId, depth, fromMs, toMs]),
  ).toEqual([
    ['late', 0, 900, 950],
    ['root', 0, 100, 1_000],
    ['a', 1, 100, 1_000],
    ['a1', 2, 100, 1_000],
    ['b', 1, 100, 1_000],
  ]);
});

test('the events of a tree are those of the thread that delegated its first task, or of that task itself', () => {
  const [root, own, below] = [
    task('root', 'a conversation', [0, 1]),
    task('own', null, [0, 1]),
    task('below', 'thread of root', [0, 1]),
  ];
  const deeper = task('deeper', 'thread of below', [0, 1]);
  const all = [root, own, below, deeper];
  expect(all.map((one) => rootThreadOf(one, all))).toEqual([
    'a conversation',
    'thread of own',
    'a conversation',
    'a conversation',
  ]);
});
