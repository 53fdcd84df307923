import type { Task } from '@harness/contracts';

/** A task in its tree. */
export interface TaskNode {
  task: Task;
  depth: number;
  /** First and last moment of the whole tree, ms since 1970: all its bars share one scale. */
  fromMs: number;
  toMs: number;
}

/**
 * Tasks as trees, one below another: a task is below the one whose thread delegated it. Trees in the order of the list (latest
 * first), the tasks of a tree by age. `now` ends what is still open.
 */
export function treesOf(tasks: readonly Task[], now: number): TaskNode[] {
  const byThread = new Map(tasks.map((task) => [task.threadId, task]));
  const parentOf = ({ parentThreadId }: Task) =>
    parentThreadId === null ? undefined : byThread.get(parentThreadId);
  const children = Map.groupBy(tasks.filter(parentOf), (task) => task.parentThreadId as string);
  const below = (task: Task, depth: number): { task: Task; depth: number }[] => [
    { task, depth },
    ...(children.get(task.threadId) ?? [])
      .toSorted((one, other) => (one.createdAt < other.createdAt ? -1 : 1))
      .flatMap((child) => below(child, depth + 1)),
  ];
  return tasks
    .filter((task) => !parentOf(task))
    .flatMap((root) => {
      const nodes = below(root, 0);
      const fromMs = Date.parse(root.createdAt);
      const toMs = Math.max(fromMs + 1, ...nodes.map(({ task }) => endOf(task, now)));
      return nodes.map((node) => ({ ...node, fromMs, toMs }));
    });
}

/** The thread whose event stream, with those of the threads below it, has everything of the task's tree. */
export function rootThreadOf(task: Task, tasks: readonly Task[]): string {
  const above = tasks.find(({ threadId }) => threadId === task.parentThreadId);
  return above ? rootThreadOf(above, tasks) : (task.parentThreadId ?? task.threadId);
}

/** Whether a task may still change. */
export const isOpen = ({ status }: Task): boolean => status === 'working' || status === 'input_required';

/** When a task ended, or `now`, ms since 1970. */
export const endOf = (task: Task, now: number): number => (isOpen(task) ? now : Date.parse(task.updatedAt));
