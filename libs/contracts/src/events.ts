/**
 * Events: SSE `event:` = type, `id:` = stream id, `data:` = `{threadId, runId?, at, …}`; those of a tenant's bus
 * (`bus.*`) have a stream of their own and no thread: `{taskId?, worker?, at, …}`.
 * Everything but `agent.message_delta` is stored and replayed; a delta has no id.
 */
export const eventTypes = [
  'thread.created',
  'run.queued',
  'run.started',
  'run.completed',
  'run.failed',
  'run.interrupted',
  'run.cancelled',
  'run.timeout',
  'agent.message',
  'agent.message_delta',
  'agent.tool_use',
  'agent.tool_result',
  'session.warming',
  'session.warm',
  'session.released',
  'session.moved',
  'task.created',
  'task.checkin',
  'task.review_started',
  'task.review_ended',
  'task.completed',
  'task.failed',
  'task.cancelled',
  'tools.changed',
  'bus.task_queued',
  'bus.task_assigned',
  'bus.task_in_progress',
  'bus.task_done',
  'bus.task_blocked',
  'bus.task_dead',
  'bus.task_withdrawn',
  'bus.worker_registered',
  'bus.worker_lost',
  'stream.replayed',
] as const;
export type EventType = (typeof eventTypes)[number];

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
