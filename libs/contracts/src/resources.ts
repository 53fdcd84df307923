/**
 * The resources of REST, MCP and Redis: one schema each, the type derived from it.
 * Times are ISO 8601 UTC, durations carry their unit, ids are as in ids.ts.
 */
import { z } from 'zod';
import { runIdPattern, taskIdPattern, threadIdPattern } from './ids.ts';

export const ThreadId = z
  .string()
  .regex(new RegExp(threadIdPattern))
  .describe('thr_ and 32 hex digits; or what the caller named it: 1 to 128 of A-Z a-z 0-9 . _ : -');
export const RunId = z
  .string()
  .regex(new RegExp(runIdPattern))
  .describe('run_ and the 32 hex digits of a UUIDv4');
export const TaskId = z.string().regex(new RegExp(taskIdPattern)).describe('task_ and 32 hex digits');

const Instant = z.string().describe('ISO 8601, UTC');
const Milliseconds = z.number().nullable().describe('milliseconds');
export const Metadata = z
  .record(z.string().max(64), z.unknown())
  .describe('The caller’s own data, returned as it was given');
export const Model = z.string().min(1).max(200).describe('Model name; the default is HARNESS_DEFAULT_MODEL');
export const AgentName = z.string().min(1).max(64).describe('Name of an agent profile');
export const SkillName = z.string().min(1).max(64).describe('Name of a skill');

/** What a failure looks like wherever it is reported: a run, a task, an event, an HTTP answer. */
export const Failure = z.object({
  code: z.string(),
  message: z.string(),
  details: z.unknown().optional(),
});

export const ThreadState = z.enum(['idle', 'busy', 'interrupted', 'error']);
export const Thread = z.object({
  threadId: ThreadId,
  parentThreadId: ThreadId.nullable().describe('The thread that delegated to this one'),
  state: ThreadState,
  model: z.string().nullable(),
  agent: z.string().nullable().describe('The agent profile it works by'),
  skill: z.string().nullable().describe('The skill that is active on it'),
  metadata: Metadata,
  createdAt: Instant,
  updatedAt: Instant,
});
export type Thread = z.infer<typeof Thread>;

/** The kinds of mail. `message` comes from people; the system writes the others. */
export const RunKind = z.enum(['message', 'delegate', 'feedback', 'review', 'notification']);
export type RunKind = z.infer<typeof RunKind>;

export const RunStatus = z.enum([
  'pending',
  'running',
  'success',
  'error',
  'timeout',
  'interrupted',
  'cancelled',
]);
export type RunStatus = z.infer<typeof RunStatus>;
export type FinalRunStatus = Exclude<RunStatus, 'pending' | 'running'>;

/** How a run came to its session: warm = still alive, spare = parked process, resume = new process with history, cold = neither. */
export const SessionPath = z.enum(['warm', 'spare', 'resume', 'cold']);
export type SessionPath = z.infer<typeof SessionPath>;

export const Usage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number(),
});
export type Usage = z.infer<typeof Usage>;

export const Timings = z.object({
  queuedMs: Milliseconds,
  sessionMs: Milliseconds,
  firstTokenMs: Milliseconds,
  totalMs: Milliseconds,
});
export type Timings = z.infer<typeof Timings>;

export const Run = z.object({
  runId: RunId,
  threadId: ThreadId,
  seq: z.number().int().describe('Place in the thread, from 1'),
  kind: RunKind,
  status: RunStatus,
  attempt: z.number().int().describe('0 while it waits; more than 1 after a crash'),
  path: SessionPath.nullable(),
  result: z.string().nullable(),
  error: Failure.nullable(),
  usage: Usage.nullable(),
  timings: Timings.nullable(),
  metadata: Metadata,
  createdAt: Instant,
  startedAt: Instant.nullable(),
  endedAt: Instant.nullable(),
});
export type Run = z.infer<typeof Run>;

export const TaskStatus = z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']);
export const Verdict = z.enum([
  'satisfied',
  'needs_revision',
  'max_iterations_reached',
  'failed',
  'interrupted',
]);
export type Verdict = z.infer<typeof Verdict>;

export const Task = z.object({
  taskId: TaskId,
  threadId: ThreadId.describe('The task’s own thread'),
  parentThreadId: ThreadId.nullable(),
  model: z.string().nullable().describe('Asked for; null: as its parent, or as its agent'),
  prompt: z.string(),
  target: z.enum(['fleet', 'bus']).describe('Who does the work: a sub-agent here, or an external worker'),
  status: TaskStatus,
  iteration: z.number().int().describe('From 1'),
  maxIterations: z.number().int(),
  verdict: Verdict.nullable().describe('The last review; max_iterations_reached ends as status completed'),
  feedback: z.string().nullable(),
  result: z.string().nullable(),
  error: Failure.nullable(),
  createdAt: Instant,
  updatedAt: Instant,
});
export type Task = z.infer<typeof Task>;

/** A thread's session, as prewarm and affinity see it. `expiresAt` is when a warm one ends unless it is used. */
export const ThreadSession = z.object({
  threadId: ThreadId,
  state: z.enum(['cold', 'warming', 'warm', 'busy', 'resuming']),
  workerId: z.string().nullable(),
  epoch: z.number().int(),
  expiresAt: Instant.nullable(),
  path: SessionPath.nullable().describe('Of the latest run'),
  movable: z
    .boolean()
    .describe('False while its transcript is not whole: another worker would not know all of it'),
});
export type ThreadSession = z.infer<typeof ThreadSession>;

/** A worker, as it last said of itself. Counters run since its start. */
export const WorkerInfo = z.object({
  workerId: z.string(),
  pid: z.number().int().describe('On its own machine'),
  startedAt: Instant,
  draining: z.boolean(),
  maxSessions: z.number().int(),
  sessions: z.number().int().describe('Agent processes that live'),
  busy: z.number().int().describe('Of these, in a turn'),
  spares: z.number().int().describe('Of these, started for no thread yet'),
  turns: z.number().int(),
  paths: z.record(SessionPath, z.number().int()).describe('Turns by how they came to their session'),
  evicted: z.number().int(),
  transcriptErrors: z
    .number()
    .int()
    .describe('Times that a transcript could not be written: that thread cannot move until it is whole'),
  rssBytes: z.number().int(),
});
export type WorkerInfo = z.infer<typeof WorkerInfo>;

/** A plugin as it runs in this fleet. */
export const Plugin = z.object({
  name: z.string(),
  version: z.string(),
  enabled: z.boolean().describe('False: it rests, by PATCH, in the whole fleet'),
  tools: z.array(z.string()).describe('As callers name them'),
  isolation: z
    .enum(['process', 'none'])
    .describe('Whether it runs in a process of its own: of the gateway that answers'),
  state: z
    .enum(['ready', 'restarting', 'degraded', 'disabled'])
    .describe(
      'degraded: its process ends again and again, and is tried every 10 s; at the gateway that answers',
    ),
  crashes: z.number().int().describe('Times that its process ended, or had to be ended'),
  lastCrash: z.string().nullable().describe('Why it did so last'),
});
export type Plugin = z.infer<typeof Plugin>;
