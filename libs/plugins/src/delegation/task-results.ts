/** How callers that are no sessions get the result of a delegated task: they ask, wait, or subscribe. */
import { AppError, type Task } from '@harness/contracts';
import type { PluginResourceTemplate, PluginTool, ToolResult } from '@harness/plugin-kit';
import { taskUriOf } from '../follow-up.ts';

/** Default and longest wait of one call, ms; below what most clients wait for a result. */
const defaultWaitMs = 50_000;
const maxWaitMs = 300_000;

const taskId = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  description: 'As delegation__delegate returned it',
};
const isOver = ({ status }: Task) => status !== 'working' && status !== 'input_required';

/** Reads a task. */
export const getTask: PluginTool = {
  name: 'get_task',
  title: 'State of a task',
  scope: 'tasks',
  sessions: false,
  description: 'Returns the state of a delegated task, and its result when it has ended.',
  schema: { type: 'object', properties: { taskId }, required: ['taskId'], additionalProperties: false },
  idempotent: true,
  annotations: { readOnlyHint: true },
  handler: async (ctx, { taskId: id }) => resultOf(found(await ctx.tasks.get(String(id)), String(id))),
};

/**
 * Waits for the end of a task, with its check-ins as progress. Not for sessions: one that waits keeps its slot, which
 * the sub-agent may need.
 */
export const waitTask: PluginTool = {
  name: 'wait_task',
  title: 'Wait for a task',
  scope: 'tasks',
  sessions: false,
  description:
    'Waits until a delegated task ends and returns its result; call it again when the time is over before.',
  schema: {
    type: 'object',
    properties: {
      taskId,
      timeoutMs: {
        type: 'integer',
        minimum: 0,
        maximum: maxWaitMs,
        description: `Longest wait; default ${defaultWaitMs}`,
      },
    },
    required: ['taskId'],
    additionalProperties: false,
  },
  idempotent: true,
  timeoutMs: maxWaitMs + 10_000,
  annotations: { readOnlyHint: true },
  async handler(ctx, { taskId: id, timeoutMs = defaultWaitMs }, meta) {
    const task = found(await ctx.tasks.get(String(id)), String(id));
    if (isOver(task)) return resultOf(task);
    let checkins = 0;
    return resultOf(
      await ctx.tasks.wait(task.taskId, {
        timeoutMs: Number(timeoutMs),
        signal: meta.signal,
        onCheckin: (message) => meta.progress(++checkins, undefined, message),
      }),
    );
  },
};

/** A task as a resource, to which clients can subscribe. */
export const taskResource: PluginResourceTemplate = {
  uriTemplate: 'harness://tasks/{taskId}',
  name: 'Delegated task',
  description: 'State and result of a delegated task',
  mimeType: 'application/json',
  async read(ctx, _uri, ...[{ taskId: id = '' }, { principal }]) {
    if (!principal.scopes.includes('tasks'))
      throw new AppError('forbidden', 'This key lacks the scope "tasks". Use a key that has it.');
    return JSON.stringify(found(await ctx.tasks.get(id), id));
  },
  onSubscribe: (ctx, uri) => ctx.tasks.watch(uri.slice(taskUriOf('').length)),
};

function found(task: Task | null, id: string): Task {
  if (task) return task;
  throw new AppError(
    'task_not_found',
    `There is no task ${id}. Check the id that delegation__delegate returned.`,
  );
}

function resultOf(task: Task): ToolResult {
  const { status, result, error } = task;
  const message = isOver(task)
    ? (result ?? error?.message ?? `The task ended as ${status}.`)
    : `The task is not done yet (${status}).`;
  return {
    content: [{ type: 'text', text: message }],
    structuredContent: { message, ...task },
    isError: status === 'failed' || status === 'cancelled',
  };
}
