/**
 * Events: SSE `event:` = type, `id:` = stream id, `data:` = `{type, threadId, runId?, at, …}`; those of a tenant's bus
 * (`bus.*`) have a stream of their own and no thread: `{type, taskId?, worker?, at, …}`.
 * Everything but `agent.message_delta` is stored and replayed; a delta has no id.
 */
import { z } from 'zod';
import {
  Failure,
  RunId,
  RunKind,
  RunStatus,
  SessionPath,
  TaskId,
  TaskStatus,
  Timings,
  Usage,
  Verdict,
} from './resources.ts';

const runEvent = { runId: RunId };
const runEnd = {
  ...runEvent,
  status: RunStatus,
  result: z.string().optional(),
  error: Failure.optional(),
  usage: Usage.optional(),
  timings: Timings.optional(),
  path: SessionPath.optional(),
};
const text = { ...runEvent, text: z.string() };
const ofSession = { epoch: z.int() };
const ofTask = { taskId: TaskId, taskThreadId: z.string().describe('The task’s own thread') };
const taskEnd = {
  ...ofTask,
  status: TaskStatus.optional(),
  verdict: Verdict.optional(),
  result: z.string().optional(),
};
const ofBusTask = { taskId: z.string() };
const reason = z.string().optional();
const held = { ...ofBusTask, worker: z.string(), attempt: z.int() };

/** What each type of event says, besides its type and `at`; and those of a thread its `threadId`. */
export const eventFields = {
  'thread.created': { parentThreadId: z.string().optional() },
  'run.queued': { ...runEvent, seq: z.int(), kind: RunKind },
  'run.started': { ...runEvent, attempt: z.int() },
  'run.completed': runEnd,
  'run.failed': runEnd,
  'run.interrupted': runEnd,
  'run.cancelled': runEnd,
  'run.timeout': runEnd,
  'agent.message': text,
  'agent.message_delta': text,
  'agent.tool_use': { ...runEvent, toolUseId: z.string(), name: z.string(), input: z.unknown() },
  'agent.tool_result': { ...runEvent, toolUseId: z.string(), isError: z.boolean(), text: z.string() },
  'session.warming': ofSession,
  'session.warm': { ...ofSession, path: SessionPath },
  'session.released': ofSession,
  'session.moved': { ...ofSession, workerId: z.string() },
  'task.created': { ...ofTask, prompt: z.string(), maxIterations: z.int() },
  'task.checkin': { ...ofTask, message: z.string() },
  'task.review_started': { ...ofTask, iteration: z.int() },
  'task.review_ended': { ...ofTask, iteration: z.int(), verdict: Verdict, feedback: z.string().optional() },
  'task.completed': taskEnd,
  'task.failed': taskEnd,
  'task.cancelled': taskEnd,
  'tools.changed': {},
  'bus.task_queued': { ...ofBusTask, reason, priority: z.int() },
  'bus.task_assigned': { ...held, priority: z.int() },
  'bus.task_in_progress': held,
  'bus.task_done': held,
  'bus.task_blocked': { ...ofBusTask, worker: z.string(), reason },
  'bus.task_dead': { ...ofBusTask, reason, losses: z.int() },
  'bus.task_withdrawn': ofBusTask,
  'bus.worker_registered': { worker: z.string() },
  'bus.worker_lost': { worker: z.string(), taskId: z.string(), reason },
  'stream.replayed': {},
} satisfies Record<string, z.ZodRawShape>;
export type EventType = keyof typeof eventFields;
export const eventTypes = Object.keys(eventFields) as EventType[];

/** The `data` of an event of this type. Fields may be added; none is taken away. */
export const eventDataOf = (type: EventType) =>
  z.looseObject({
    type: z.literal(type),
    ...(type.startsWith('bus.')
      ? {}
      : { threadId: type === 'stream.replayed' ? z.string().optional() : z.string() }),
    at: z.iso.datetime(),
    ...eventFields[type],
  });

/** An event before the log has stamped it. */
export interface NewEvent {
  type: EventType;
  runId?: string;
  [field: string]: unknown;
}

/** An event as subscribers get it. `id` is null for what is not stored. */
export interface ThreadEvent {
  id: string | null;
  type: EventType;
  data: {
    /** The same, for those who are given the data alone. */
    type: EventType;
    /** Every event's but those of the bus. */
    threadId?: string;
    runId?: string;
    at: string;
    [field: string]: unknown;
  };
}

const finalEvents = {
  success: 'run.completed',
  error: 'run.failed',
  timeout: 'run.timeout',
  interrupted: 'run.interrupted',
  cancelled: 'run.cancelled',
} as const;

/** The event that ends a run of this status. */
export const finalEventOf = (status: keyof typeof finalEvents): EventType => finalEvents[status];

const ends: ReadonlySet<string> = new Set(Object.values(finalEvents));
export const isFinalRunEvent = (type: string): boolean => ends.has(type);
