/** Checks the events of a bus, in the order of Redis. */
import type { ThreadEvent } from '@harness/contracts';

export interface BusTaskSent {
  taskId: string;
  priority: number;
  requires: string[];
}

interface Seen extends BusTaskSent {
  /** Position among the submissions. */
  age: number;
  state: 'queued' | 'assigned' | 'in_progress' | 'done' | 'dead' | 'blocked';
  results: number;
}

const labelsOf = (worker: string) => (worker.startsWith('gpu') ? ['gpu'] : []);
const fits = (task: BusTaskSent, labels: string[]) => task.requires.every((label) => labels.includes(label));

/** The states from which each event may come. */
const from: Record<string, readonly Seen['state'][]> = {
  'bus.task_queued': ['assigned', 'in_progress', 'dead', 'blocked'],
  'bus.task_assigned': ['queued'],
  'bus.task_in_progress': ['assigned'],
  'bus.task_done': ['in_progress'],
  'bus.task_dead': ['assigned', 'in_progress'],
};

/** Describes every broken promise. */
export function checkBus(events: readonly ThreadEvent[], sent: readonly BusTaskSent[]): string[] {
  const wrong: string[] = [];
  const wishes = new Map(sent.map((task) => [task.taskId, task]));
  const tasks = new Map<string, Seen>();
  const queued = new Set<Seen>();

  const checkOrder = (task: Seen, worker: string) => {
    const labels = labelsOf(worker);
    if (!fits(task, labels)) wrong.push(`${task.taskId} went to ${worker}, who has not what it requires`);
    for (const other of queued) {
      const isBefore =
        other.priority > task.priority || (other.priority === task.priority && other.age < task.age);
      if (other !== task && isBefore && fits(other, labels))
        wrong.push(
          `${task.taskId} (${task.priority}, ${task.age}) before ${other.taskId} (${other.priority}, ${other.age})`,
        );
    }
  };

  for (const { type, data } of events) {
    const allowed = from[type];
    if (!allowed) continue;
    const taskId = String(data.taskId);
    let task = tasks.get(taskId);
    if (!task) {
      const wish = wishes.get(taskId);
      if (type !== 'bus.task_queued' || !wish) wrong.push(`${type} of ${taskId}, which was not submitted`);
      task = {
        ...(wish ?? { taskId, priority: 0, requires: [] }),
        age: tasks.size,
        state: 'queued',
        results: 0,
      };
      tasks.set(taskId, task);
    } else if (!allowed.includes(task.state)) {
      wrong.push(`${type} of ${taskId} while it was ${task.state}`);
    }
    if (type === 'bus.task_assigned') checkOrder(task, String(data.worker));
    if (type === 'bus.task_done') task.results++;
    task.state = type.slice('bus.task_'.length) as Seen['state'];
    if (task.state === 'queued') queued.add(task);
    else queued.delete(task);
  }
  for (const { taskId } of sent) {
    const task = tasks.get(taskId);
    if (task?.state !== 'done' || task.results !== 1)
      wrong.push(`${taskId} ended ${task?.results ?? 0} times, and is ${task?.state ?? 'unknown'}`);
  }
  return wrong;
}
