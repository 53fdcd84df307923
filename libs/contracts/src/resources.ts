/**
 * The resources of REST, MCP and Redis: one schema each, from which the type is derived. Times are ISO 8601
 * UTC, durations have their unit in the name, ids are as in ids.ts.
 */
import { z } from 'zod';
import { FileChanges, FilesVersion } from './files/files.ts';
import { runIdPattern, taskIdPattern, threadIdPattern } from './ids.ts';

/** Own id or name of a thread. */
export const ThreadId = z
  .string()
  .regex(new RegExp(threadIdPattern))
  .describe('thr_ and 32 hex digits; or the name that the caller chose: 1 to 128 of A-Z a-z 0-9 . _ : -');
/** Id of a run. */
export const RunId = z
  .string()
  .regex(new RegExp(runIdPattern))
  .describe('run_ and the 32 hex digits of a UUIDv4');
/** Id of a delegated task. */
export const TaskId = z.string().regex(new RegExp(taskIdPattern)).describe('task_ and 32 hex digits');

const Instant = z.string().describe('ISO 8601, UTC');
const Milliseconds = z.number().nullable().describe('milliseconds');
/** The caller's own data. */
export const Metadata = z
  .record(z.string().max(64), z.unknown())
  .describe('The caller’s own data, returned unchanged');
/** Name of a model. */
export const Model = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}]*$/u, 'must have no control characters')
  .describe('Model name; the default is HARNESS_DEFAULT_MODEL');
/** Name of an agent profile. */
export const AgentName = z.string().min(1).max(64).describe('Name of an agent profile');
/** Name of a skill. */
export const SkillName = z.string().min(1).max(64).describe('Name of a skill');

/** A failure as every place reports it: a run, a task, an event, an HTTP response. */
export const Failure = z.object({
  code: z.string(),
  message: z.string(),
  details: z.unknown().optional(),
});

/** State of a thread: busy while it has mail, otherwise by the end of its last run. */
export const ThreadState = z.enum(['idle', 'busy', 'interrupted', 'error']);
/** A thread: a conversation with its settings. */
export const Thread = z.object({
  threadId: ThreadId,
  parentThreadId: ThreadId.nullable().describe('The thread that delegated to this one'),
  state: ThreadState,
  model: z.string().nullable(),
  agent: z.string().nullable().describe('Its agent profile'),
  skill: z.string().nullable().describe('Its active skill'),
  workspace: z
    .boolean()
    .nullable()
    .describe('Whether it was asked to have a workspace; null: not said, its agent and skill decide'),
  files: FilesVersion.nullable().describe('Version of its files; null: it never had any'),
  forkedFrom: z
    .object({
      threadId: ThreadId,
      runId: RunId.nullable().describe('The last run whose conversation it has; null: all there were'),
    })
    .nullable()
    .describe('The thread whose conversation and files it began with'),
  tools: z
    .array(z.string())
    .optional()
    .describe('Tools that its session has, built-in ones last; only with `tools=true`'),
  metadata: Metadata,
  createdAt: Instant,
  updatedAt: Instant,
});
/** A thread. */
export type Thread = z.infer<typeof Thread>;

/** The kinds of mail. `message` comes from callers; the system writes the others. */
export const RunKind = z.enum(['message', 'delegate', 'feedback', 'review', 'notification']);
/** A kind of mail. */
export type RunKind = z.infer<typeof RunKind>;

/** Status of a run; the last five are final. */
export const RunStatus = z.enum([
  'pending',
  'running',
  'success',
  'error',
  'timeout',
  'interrupted',
  'cancelled',
]);
/** The status of a run. */
export type RunStatus = z.infer<typeof RunStatus>;
/** Status of a run that has ended. */
export type FinalRunStatus = Exclude<RunStatus, 'pending' | 'running'>;

/**
 * How a run got its session. warm: still running. spare: a prestarted process. resume: a new process with the
 * history. cold: a new process without history.
 */
export const SessionPath = z.enum(['warm', 'spare', 'resume', 'cold']);
/** How a run got its session. */
export type SessionPath = z.infer<typeof SessionPath>;

/** Tokens and cost of a run. */
export const Usage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number(),
});
/** Tokens and cost of a run. */
export type Usage = z.infer<typeof Usage>;

/** Durations of a run. */
export const Timings = z.object({
  queuedMs: Milliseconds,
  sessionMs: Milliseconds,
  firstTokenMs: Milliseconds,
  totalMs: Milliseconds,
});
/** Durations of a run. */
export type Timings = z.infer<typeof Timings>;

/** A run: one message and its result. */
export const Run = z.object({
  runId: RunId,
  threadId: ThreadId,
  seq: z.number().int().describe('Position in the thread, from 1'),
  kind: RunKind,
  status: RunStatus,
  attempt: z.number().int().describe('0 while it waits; more than 1 after a crash'),
  path: SessionPath.nullable(),
  input: z.string().optional().describe('The text of the message, with ?input=true'),
  result: z.string().nullable(),
  error: Failure.nullable(),
  usage: Usage.nullable(),
  timings: Timings.nullable(),
  files: FilesVersion.nullable().describe('Version of the thread’s files after the run'),
  metadata: Metadata,
  createdAt: Instant,
  startedAt: Instant.nullable(),
  endedAt: Instant.nullable(),
});
/** A run. */
export type Run = z.infer<typeof Run>;

/** The latest run of a thread in a list; its texts are cut. */
export const LatestRun = Run.pick({
  runId: true,
  kind: true,
  status: true,
  createdAt: true,
}).extend({
  input: z.string().describe('The beginning of the message'),
  result: z.string().nullable().describe('The beginning of the result'),
  error: z.string().nullable().describe('The beginning of the error’s message'),
});
/** The latest run of a thread in a list. */
export type LatestRun = z.infer<typeof LatestRun>;

/** A thread in a list. */
export const ListedThread = Thread.extend({
  metadata: Metadata.optional().describe('With ?metadata=true'),
  latestRun: LatestRun.nullable().optional().describe('With ?latestRun=true'),
});
/** A thread in a list. */
export type ListedThread = z.infer<typeof ListedThread>;

/** Status of a delegated task; the last three are final. */
export const TaskStatus = z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']);
/** The outcome of a task's latest review. */
export const Verdict = z.enum([
  'satisfied',
  'needs_revision',
  'max_iterations_reached',
  'failed',
  'interrupted',
]);
/** The outcome of a review. */
export type Verdict = z.infer<typeof Verdict>;

/** A delegated task. */
export const Task = z.object({
  taskId: TaskId,
  threadId: ThreadId.describe('The task’s own thread'),
  parentThreadId: ThreadId.nullable(),
  model: z.string().nullable().describe('Requested model; null: that of its agent, or else of its parent'),
  prompt: z.string(),
  target: z
    .enum(['fleet', 'bus'])
    .describe('Where the work is done: by a sub-agent here, or by an external worker'),
  status: TaskStatus,
  iteration: z.number().int().describe('From 1'),
  maxIterations: z.number().int(),
  verdict: Verdict.nullable().describe(
    'Of the last review; with max_iterations_reached the status is completed',
  ),
  feedback: z.string().nullable(),
  result: z.string().nullable(),
  error: Failure.nullable(),
  files: FileChanges.nullable().describe('What it changed of its files; null: nothing'),
  createdAt: Instant,
  updatedAt: Instant,
});
/** A delegated task. */
export type Task = z.infer<typeof Task>;

/** The session of a thread. `expiresAt`: when a warm session ends unless it is used. */
export const ThreadSession = z.object({
  threadId: ThreadId,
  state: z.enum(['cold', 'warming', 'warm', 'busy', 'resuming']),
  workerId: z.string().nullable(),
  epoch: z.number().int(),
  expiresAt: Instant.nullable(),
  path: SessionPath.nullable().describe('How the latest run got its session'),
  movable: z
    .boolean()
    .describe('False while its transcript is incomplete: then the thread stays on its worker'),
});
/** The session of a thread. */
export type ThreadSession = z.infer<typeof ThreadSession>;

/** The session of a thread on a worker; of any tenant. */
export const WorkerSession = ThreadSession.omit({ workerId: true, movable: true }).extend({
  tenant: z.string(),
});
/** The session of a thread on a worker. */
export type WorkerSession = z.infer<typeof WorkerSession>;

/** A worker's latest report. Counters count from its start. */
export const WorkerInfo = z.object({
  workerId: z.string(),
  pid: z.number().int().describe('Process id on its machine'),
  startedAt: Instant,
  draining: z.boolean(),
  maxSessions: z.number().int(),
  sessions: z.number().int().describe('Live agent processes'),
  busy: z.number().int().describe('Of these, in a turn'),
  spares: z.number().int().describe('Of these, started in advance and without a thread'),
  turns: z.number().int(),
  paths: z.record(SessionPath, z.number().int()).describe('Turns by how they got their session'),
  evicted: z.number().int(),
  transcriptErrors: z
    .number()
    .int()
    .describe(
      'Times that a transcript could not be written; such a thread stays on this worker until its transcript is complete',
    ),
  rssBytes: z.number().int(),
  sandbox: z
    .object({
      level: z.enum(['bubblewrap', 'bubblewrap-bound-proc', 'none', 'off']),
      reason: z.string().optional().describe('Why there is none'),
    })
    .optional()
    .describe('How sessions with a workspace are enclosed; off: HARNESS_WORKSPACES is off'),
});
/** A worker's latest report. */
export type WorkerInfo = z.infer<typeof WorkerInfo>;

/** A plugin in this fleet. */
export const Plugin = z.object({
  name: z.string(),
  version: z.string(),
  enabled: z.boolean().describe('Whether the caller’s tenant is offered it'),
  disabledFor: z.enum(['tenant', 'all']).nullable().describe('For whom it was disabled'),
  global: z.boolean().describe('Whether its code may share data of all tenants (ctx.global)'),
  tools: z.array(z.string()).describe('As callers name them'),
  isolation: z
    .enum(['process', 'none'])
    .describe('Whether it runs in a separate process, at the gateway that responds'),
  state: z
    .enum(['ready', 'restarting', 'degraded', 'disabled'])
    .describe(
      'degraded: its process ends repeatedly, and is started only every 10 s; at the gateway that responds',
    ),
  crashes: z.number().int().describe('Times that its process crashed or had to be ended'),
  lastCrash: z.string().nullable().describe('Reason of the last crash'),
});
/** A plugin in this fleet. */
export type Plugin = z.infer<typeof Plugin>;
