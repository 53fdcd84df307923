/**
 * The bus's tools in one table, from which the plugin's tools (MCP, sessions and the stdio bridge), the REST
 * endpoints, openapi.yaml and /docs are made.
 */
import { z } from 'zod';
import {
  BusAssignment,
  BusStats,
  BusTaskState,
  BusWorker,
  BusWorkerState,
  defaultPollMs,
  maxPollMs,
} from './bus.ts';

/** A worker's name: starts with a letter or digit of any script, may have spaces, is one line. */
const namePattern = /^[^\s!-/:-@[-`{-~](.{0,62}\S)?$/;
const labelPattern = /^[a-zA-Z0-9][a-zA-Z0-9._:/=-]{0,63}$/;
const taskIdPattern = /^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,127}$/;

const nameOf = (words: string) => z.string().min(1).max(64).regex(namePattern).describe(words);
const name = nameOf('Your name as a worker, the same in every call');
const taskId = z
  .string()
  .min(1)
  .max(128)
  .regex(taskIdPattern)
  .describe('The id of the task, chosen by its submitter: letters, digits, ".", "_", ":" and "-"');
const lease = z
  .string()
  .min(1)
  .max(64)
  .describe('The lease that poll_task returned with the task: identifies your assignment');
const ownName = name
  .optional()
  .describe('Your name as a worker; required without the lease once the task was assigned more than once');
const labels = z.array(z.string().regex(labelPattern)).max(32);
const message = z.string().describe('The outcome in words');
const Deadline = z
  .string()
  .describe('ISO 8601, UTC; without a heartbeat or an end by then, the task is taken back');

/** One tool, as an MCP tool and as a REST endpoint. */
interface BusTool {
  title: string;
  description: string;
  input: z.ZodObject;
  output: z.ZodObject;
  annotations: { readOnlyHint?: boolean; destructiveHint?: boolean };
  /** A repeat of the call changes nothing more. */
  idempotent: boolean;
  method: 'GET' | 'POST';
  /** Path of the REST endpoint; `:name` is a property of the input. */
  path: string;
  /** Time limit of one call, ms; default: that of tools. */
  timeoutMs?: number;
}

/** The bus's tools, by name. */
export const busTools = {
  submit_task: {
    title: 'Submit a task',
    description:
      'Puts a task on the bus for an external worker. Submitting the same id again changes nothing. Tasks are assigned by priority, then by age, to workers that have every label the task requires.',
    input: z.strictObject({
      taskId,
      payload: z
        .unknown()
        .optional()
        .describe(
          'Data for the worker: any JSON, at most 256 KiB and 60 levels; control characters and terminal escapes are removed before the worker gets it',
        ),
      priority: z.int().min(-1000).max(1000).optional().describe('Higher goes first; default 0'),
      requires: labels.optional().describe('Labels that the worker must have; default none'),
    }),
    output: z.object({
      message,
      taskId: z.string(),
      state: BusTaskState,
      existing: z.boolean().describe('It was submitted before; the first payload is kept'),
    }),
    annotations: { destructiveHint: false },
    idempotent: true,
    method: 'POST',
    path: '/v1/bus/tasks',
  },
  register_worker: {
    title: 'Register as a worker',
    description:
      'Registers you on the bus under a name; do this once, before poll_task. Registering again changes your labels.',
    input: z.strictObject({
      name,
      labels: labels.optional().describe('What you can do; tasks may require labels. Default none'),
    }),
    output: z.object({ message, name: z.string(), labels: z.array(z.string()), state: BusWorkerState }),
    annotations: { destructiveHint: false },
    idempotent: true,
    method: 'POST',
    path: '/v1/bus/workers',
  },
  poll_task: {
    title: 'Wait for a task',
    description:
      'Waits until there is a task for you and returns it with its lease; taskId is null when the time is over: then poll again. Acknowledge a task with ack_task within 30 seconds, or another worker gets it; until then a further poll returns the same.',
    input: z.strictObject({
      name,
      timeoutMs: z
        .int()
        .min(0)
        .default(defaultPollMs)
        .optional()
        .describe(`How long to wait, milliseconds; default ${defaultPollMs}, at most ${maxPollMs}`),
    }),
    output: BusAssignment.partial().extend({ message, taskId: z.string().nullable() }),
    annotations: { destructiveHint: false },
    idempotent: true,
    method: 'POST',
    path: '/v1/bus/workers/:name/poll',
    timeoutMs: maxPollMs + 30_000,
  },
  ack_task: {
    title: 'Acknowledge a task',
    description: 'Confirms that you begin to work on the task that poll_task returned.',
    input: z.strictObject({ name, taskId, lease: lease.optional() }),
    output: z.object({ message, taskId: z.string(), state: BusTaskState, deadline: Deadline }),
    annotations: { destructiveHint: false },
    idempotent: true,
    method: 'POST',
    path: '/v1/bus/tasks/:taskId/ack',
  },
  heartbeat_task: {
    title: 'Report that you are still working',
    description:
      'Keeps a task that you have acknowledged. From the first heartbeat on, the next must come within 5 minutes; without any, a task is taken back after 30 minutes.',
    input: z.strictObject({ name, taskId, lease }),
    output: z.object({ message, taskId: z.string(), state: BusTaskState, deadline: Deadline }),
    annotations: { destructiveHint: false },
    idempotent: true,
    method: 'POST',
    path: '/v1/bus/tasks/:taskId/heartbeat',
  },
  worker_done: {
    title: 'Report a result',
    description:
      'Ends a task that you have acknowledged, with its result. A task has one result: sending the same one again succeeds, another one is refused, and so is yours if the task was assigned to another worker meanwhile.',
    input: z.strictObject({
      taskId,
      result: z.unknown().optional().describe('Any JSON, at most 256 KiB and 60 levels'),
      name: ownName,
      lease: lease.optional(),
    }),
    output: z.object({ message, taskId: z.string(), state: BusTaskState, existing: z.boolean() }),
    annotations: { destructiveHint: false },
    idempotent: true,
    method: 'POST',
    path: '/v1/bus/tasks/:taskId/done',
  },
  task_failed: {
    title: 'Report a failure',
    description:
      'Reports that you cannot do a task that you have acknowledged. The task is blocked until retry_task is called for it.',
    input: z.strictObject({
      taskId,
      reason: z
        .string()
        .regex(/\S/)
        .max(10_000)
        .describe('Why, for the person or agent who decides whether to retry it'),
      name: ownName,
      lease: lease.optional(),
    }),
    output: z.object({ message, taskId: z.string(), state: BusTaskState, existing: z.boolean() }),
    annotations: { destructiveHint: false },
    idempotent: true,
    method: 'POST',
    path: '/v1/bus/tasks/:taskId/failed',
  },
  get_status: {
    title: 'Status of the bus',
    description:
      'The number of tasks in each state, and the workers with their states (the first 100, most recently seen first).',
    input: z.strictObject({}),
    output: BusStats.extend({ message, workerStates: z.array(BusWorker) }),
    annotations: { readOnlyHint: true },
    idempotent: true,
    method: 'GET',
    path: '/v1/bus/status',
  },
  reset_worker: {
    title: 'Reset a worker',
    description:
      'Makes a worker idle, whatever its state. Its task goes back to the queue; later calls of the worker about that task are refused.',
    input: z.strictObject({ workerName: nameOf('Name of the worker') }),
    output: z.object({
      message,
      name: z.string(),
      before: BusWorkerState,
      taskId: z.string().nullable().describe('The task that went back to the queue'),
    }),
    annotations: { destructiveHint: true },
    idempotent: true,
    method: 'POST',
    path: '/v1/bus/workers/:workerName/reset',
  },
  retry_task: {
    title: 'Retry a task',
    description:
      'Puts a task that is in_progress, blocked or dead back into the queue. Later calls of a worker that still works on it are refused.',
    input: z.strictObject({ taskId }),
    output: z.object({ message, taskId: z.string(), before: BusTaskState, state: BusTaskState }),
    annotations: { destructiveHint: true },
    idempotent: false,
    method: 'POST',
    path: '/v1/bus/tasks/:taskId/retry',
  },
} as const satisfies Record<string, BusTool>;

/** The name of a bus tool. */
export type BusToolName = keyof typeof busTools;
/** The input of a bus tool. */
export type BusInput<Name extends BusToolName> = z.infer<(typeof busTools)[Name]['input']>;
/** The structured output of a bus tool. */
export type BusOutput<Name extends BusToolName> = z.infer<(typeof busTools)[Name]['output']>;

const oldNames: Readonly<Record<string, string>> = {
  taskId: 'bead_id',
  name: 'worker_name',
  workerName: 'worker_name',
  timeoutMs: 'timeout_ms',
};

/** Old names of a tool's properties, by old name: accepted in calls, but not listed in the schema. */
export function busAliasesOf(tool: BusToolName): Record<string, string> {
  const { shape } = busTools[tool].input;
  return Object.fromEntries(
    Object.entries(oldNames).flatMap(([property, old]) => (property in shape ? [[old, property]] : [])),
  );
}
