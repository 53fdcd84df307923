/** Resources of the bus of external workers. libs/dispatch/src/bus/bus.lua draws states and moves. */
import { z } from 'zod';

/** States of a bus task. */
export const busTaskStates = [
  'queued',
  'assigned',
  'in_progress',
  'done',
  'blocked',
  'dead',
  'withdrawn',
] as const;
/** The state of a bus task. */
export const BusTaskState = z.enum(busTaskStates);
/** The state of a bus task. */
export type BusTaskState = z.infer<typeof BusTaskState>;

/** The state of an external worker. lost: its assignment expired. */
export const BusWorkerState = z.enum(['idle', 'polling', 'pending', 'executing', 'lost']);
/** The state of an external worker. */
export type BusWorkerState = z.infer<typeof BusWorkerState>;

/** Largest payload and largest result, bytes of JSON. */
export const maxBusBytes = 256 * 1024;
/**
 * Deepest nesting of a payload or result. The messages that carry them allow 64 levels and add some of their
 * own.
 */
export const maxBusDepth = 60;
/** Longest wait of one poll, ms. */
export const maxPollMs = 120_000;
/** Wait of a poll that names none, ms. */
export const defaultPollMs = 30_000;

const Instant = z.string().describe('ISO 8601, UTC');

/** A task as lists show it; reading it by id adds payload and result. */
export const BusTask = z.object({
  taskId: z.string(),
  state: BusTaskState,
  priority: z.int(),
  requires: z.array(z.string()),
  attempt: z.int().describe('Times it was assigned'),
  losses: z.int().describe('Of these, assignments that were lost without a result; retry_task sets it to 0'),
  worker: z.string().nullable().describe('The worker that has it, or had it when it ended'),
  reason: z.string().nullable().describe('Why it is blocked or dead'),
  delegatedTaskId: z.string().nullable().describe('The delegated task that this is work for'),
  deadline: Instant.nullable().describe('When it is taken back, without a heartbeat or an end'),
  createdAt: Instant,
  updatedAt: Instant.describe('When it entered this state'),
});
/** A bus task in a list. */
export type BusTask = z.infer<typeof BusTask>;

/** A task with its payload and result. */
export const BusTaskDetail = BusTask.extend({
  payload: z.unknown().optional(),
  result: z.unknown().optional(),
});
/** A bus task with its payload and result. */
export type BusTaskDetail = z.infer<typeof BusTaskDetail>;

/** An external worker. */
export const BusWorker = z.object({
  name: z.string(),
  labels: z.array(z.string()),
  state: BusWorkerState,
  taskId: z.string().nullable(),
  since: Instant.describe('When it entered this state'),
  seenAt: Instant,
  registeredAt: Instant,
});
/** An external worker. */
export type BusWorker = z.infer<typeof BusWorker>;

/** Counts of one tenant's bus. */
export const BusStats = z.object({
  depth: z.int().describe('Tasks in the queue'),
  assigned: z.int(),
  inProgress: z.int(),
  oldestQueuedAt: Instant.nullable().describe('When the longest-waiting task entered the queue'),
  workersPolling: z.int(),
  dead: z.int(),
  blocked: z.int(),
  done: z.int().describe('Done tasks that are still kept'),
  workers: z.int(),
});
/** Counts of one tenant's bus. */
export type BusStats = z.infer<typeof BusStats>;

/** What a poll returns: a task and the lease on it. */
export const BusAssignment = z.object({
  taskId: z.string(),
  payload: z.unknown().optional(),
  priority: z.int(),
  requires: z.array(z.string()),
  attempt: z.int(),
  lease: z.string().describe('Proves that the task is still yours: send it with every further call'),
  acknowledgeBy: Instant,
});
/** A task and the lease on it. */
export type BusAssignment = z.infer<typeof BusAssignment>;
