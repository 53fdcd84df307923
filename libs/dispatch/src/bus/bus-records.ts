/**
 * The bus's hashes as resources of the API. Payloads and results are JSON texts in Redis, which no script
 * parses.
 */
import type {
  BusAssignment,
  BusTask,
  BusTaskDetail,
  BusTaskState,
  BusWorker,
  BusWorkerState,
} from '@harness/contracts';
import type { Redis } from 'ioredis';
import { reached } from '../redis/reached.ts';
import type { Hash } from '../redis/records.ts';

/** An assignment as scripts return it. */
export interface AssignedTask {
  taskId: string;
  payload?: string;
  priority: number;
  requires: string;
  attempt: number;
  lease: string;
  /** By Redis's clock, ms. */
  deadline: number;
}

const isoOf = (ms: string | number) => new Date(Number(ms)).toISOString();

/** Labels as scripts compare them: sorted, without duplicates, joined by commas. */
export const labelsTextOf = (labels: readonly string[]): string => [...new Set(labels)].sort().join(',');
/** The reverse of `labelsTextOf`. */
export const labelsOf = (text: string | undefined): string[] => (text ? text.split(',') : []);

/** An assignment as a poll returns it. */
export const assignmentOf = (task: AssignedTask): BusAssignment => ({
  taskId: task.taskId,
  ...(task.payload === undefined ? {} : { payload: JSON.parse(task.payload) }),
  priority: task.priority,
  requires: labelsOf(task.requires),
  attempt: task.attempt,
  lease: task.lease,
  acknowledgeBy: isoOf(task.deadline),
});

/** A bus task without its payload and result. */
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

/** A bus task with its payload and result. */
export const busTaskDetailOf = (hash: Hash): BusTaskDetail => ({
  ...busTaskOf(hash),
  ...(hash.payload === undefined ? {} : { payload: JSON.parse(hash.payload) }),
  ...(hash.result === undefined ? {} : { result: JSON.parse(hash.result) }),
});

/** An external worker. */
export const busWorkerOf = (hash: Hash): BusWorker => ({
  name: hash.name ?? '',
  labels: labelsOf(hash.labels),
  state: hash.state as BusWorkerState,
  taskId: hash.task ?? null,
  since: isoOf(hash.since ?? 0),
  seenAt: isoOf(hash.seenAt ?? 0),
  registeredAt: isoOf(hash.registeredAt ?? 0),
});

/** The hashes of tasks or workers with these names, of those that exist. */
export async function readHashes(redis: Redis, names: readonly string[]): Promise<Hash[]> {
  const hashes = await Promise.all(names.map((name) => reached(redis.hgetall(name))));
  return hashes.filter((hash) => hash.state !== undefined);
}
