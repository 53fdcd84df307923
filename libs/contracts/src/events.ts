/**
 * Events. SSE: `event:` = type, `id:` = stream id, `data:` = `{type, threadId, runId?, at, …}`. Events of a
 * tenant's bus (`bus.*`) have their own stream and no thread: `{type, taskId?, worker?, at, …}`.
 * All but `agent.message_delta` and `stream.replayed` are stored and replayed; those two have no id.
 */
import { z } from 'zod';
import { FileChanges } from './files/files.ts';
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

/** Fields of each type of event, besides `type`, `at` and, for events of a thread, `threadId`. */
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
  'agent.question': {
    ...runEvent,
    questionId: z.string(),
    message: z.string(),
    schema: z.unknown().optional().describe('JSON Schema of the answer'),
    url: z.string().optional().describe('A page to open instead of an answer'),
  },
  'agent.question_ended': { ...runEvent, questionId: z.string(), action: z.string() },
  'session.warming': ofSession,
  'session.warm': { ...ofSession, path: SessionPath },
  'session.released': ofSession,
  'session.moved': { ...ofSession, workerId: z.string() },
  'files.changed': { runId: RunId.optional().describe('Absent: changed by a caller'), ...FileChanges.shape },
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
/** A type of event. */
export type EventType = keyof typeof eventFields;
/** All types of events. */
export const eventTypes = Object.keys(eventFields) as EventType[];

/** Schema of the `data` of an event type. New fields may be added; fields are never removed. */
export const eventDataOf = (type: EventType) =>
  z.looseObject({
    type: z.literal(type),
    ...(type.startsWith('bus.')
      ? {}
      : { threadId: type === 'stream.replayed' ? z.string().optional() : z.string() }),
    at: z.iso.datetime(),
    ...eventFields[type],
  });

/** An event before the log adds `at` and the thread. */
export interface NewEvent {
  type: EventType;
  runId?: string;
  [field: string]: unknown;
}

/** An event as subscribers get it. `id` is null for an event that is not stored. */
export interface ThreadEvent {
  id: string | null;
  type: EventType;
  data: {
    /** The event's type, for readers that get only the data. */
    type: EventType;
    /** Absent in events of the bus. */
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

/** The type of the event that ends a run of this status. */
export const finalEventOf = (status: keyof typeof finalEvents): EventType => finalEvents[status];

/** The types of the events that end a run. */
export const finalRunEvents: readonly EventType[] = Object.values(finalEvents);
const ends: ReadonlySet<string> = new Set(finalRunEvents);
/** Whether an event of this type ends a run. */
export const isFinalRunEvent = (type: string): boolean => ends.has(type);
