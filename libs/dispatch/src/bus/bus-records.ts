/** The bus's hashes as resources. Payloads and results are JSON texts in Redis, which nobody there looks into. */
import type {
  BusAssignment,
  BusTask,
  BusTaskDetail,
  BusTaskState,
  BusWorker,
  BusWorkerState,
} from '@harness/contracts';
import type { Hash } from '../redis/records.ts';

/** An assignment as the scripts tell it. */
export interface AssignedTask {
  taskId: string;
  payload?: string;
  priority: number;
  requires: string;
  attempt: number;
  lease: string;
  /** Redis time, ms. */
  deadline: number;
}

const isoOf = (ms: string | number) => new Date(Number(ms)).toISOString();

/** `a,b` as the scripts compare them: sorted, each once. */
export const labelsTextOf = (labels: readonly string[]): string => [...new Set(labels)].sort().join(',');
export const labelsOf = (text: string | undefined): string[] => (text ? text.split(',') : []);

export const assignmentOf = (task: AssignedTask): BusAssignment => ({
  taskId: task.taskId,
  ...(task.payload === undefined ? {} : { payload: JSON.parse(task.payload) }),
  priority: task.priority,
  requires: labelsOf(task.requires),
  attempt: task.attempt,
  lease: task.lease,
  acknowledgeBy: isoOf(task.deadline),
});

export const busTaskOf = (hash: Hash): BusTask => ({
  taskId: hash.taskId ?? '',
  state: hash.state as BusTaskState,
  priority: Number(hash.priority),
  requires: labelsOf(hash.requires),
  attempt: Number(hash.attempt),
  losses: Number(hash.losses),
  worker: hash.worker ?? null,
  reason: hash.reason ?? null,
  delegatedTaskId: hash.delegated ?? null,
  deadline: hash.deadline === undefined ? null : isoOf(hash.deadline),
  createdAt: isoOf(hash.createdAt ?? 0),
  updatedAt: isoOf(hash.updatedAt ?? 0),
});

export const busTaskDetailOf = (hash: Hash): BusTaskDetail => ({
  ...busTaskOf(hash),
  ...(hash.payload === undefined ? {} : { payload: JSON.parse(hash.payload) }),
  ...(hash.result === undefined ? {} : { result: JSON.parse(hash.result) }),
});

export const busWorkerOf = (hash: Hash): BusWorker => ({
  name: hash.name ?? '',
  labels: labelsOf(hash.labels),
  state: hash.state as BusWorkerState,
  taskId: hash.task ?? null,
  since: isoOf(hash.since ?? 0),
  seenAt: isoOf(hash.seenAt ?? 0),
  registeredAt: isoOf(hash.registeredAt ?? 0),
});
