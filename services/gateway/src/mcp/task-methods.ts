/**
 * The MCP tasks extension. Its tasks are delegated tasks, and tool calls that outlive their request ("call
 * tasks").
 */
import { AppError } from '@harness/contracts';
import type { CallTask, Dispatch } from '@harness/dispatch';
import { type InputRequired, isInputRequired } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import { type Caller, requireScope } from '../http/credentials/authenticate.ts';
import type { ToolCalls } from '../tools/tool-calls.ts';
import { continuesKey, knowsTasks, withoutTasks } from './continued-call.ts';
import { type McpRequest, toolCallOf } from './methods.ts';
import { createTaskRunner, taskNotFound } from './task-runner.ts';
import type { FaultOf, Params } from './wire/json-rpc.ts';
import { tasksExtension } from './wire/server-identity.ts';

/** The methods of the tasks extension. */
export interface TaskMethods {
  /**
   * Serves a tools/call. Returns a result, a question or, to a client that supports the extension, a task.
   */
  call(request: McpRequest): Promise<object | InputRequired>;
  /** tasks/get. Throws `task_not_found`; so do the next two. */
  get(caller: Caller, taskId: string): Promise<object>;
  /** tasks/update: the client's responses to the questions of a task. */
  update(caller: Caller, taskId: string, inputs: Params): Promise<object>;
  /** tasks/cancel. */
  cancel(caller: Caller, taskId: string): Promise<object>;
  close(): void;
}

const pollIntervalMs = 1_000;
/** Key of a result's `_meta` with which a tool reports the task that its call has created. */
const startedTaskKey = 'harness/taskId';

/** Throws `capability_missing` unless the client supports the extension. */
export function requireTasks(capabilities: Record<string, unknown>): void {
  if (!knowsTasks(capabilities)) throw tasksMissing();
}

const tasksMissing = () =>
  new AppError('capability_missing', `The client must declare the extension ${tasksExtension}.`, {
    details: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
  });

/** Creates the methods. `close` aborts the tool calls that run as tasks at this gateway. */
export function createTaskMethods(deps: {
  dispatch: Dispatch;
  tools: ToolCalls;
  logger: Logger;
  faultOf: FaultOf;
}): TaskMethods {
  const { tools } = deps;
  const { tasks } = deps.dispatch;
  const runner = createTaskRunner(deps);
  const findDelegated = (caller: Caller, taskId: string) => {
    requireScope(caller, 'tasks');
    if (caller.session) throw taskNotFound(taskId); // a session is notified of its tasks and may not read others
    return tasks.get(caller.principal.tenant, taskId);
  };
  const startTask = async ({ caller, params, capabilities, inputs }: McpRequest, state?: unknown) => {
    const call = { caller, params, capabilities: withoutTasks(capabilities), inputs, state };
    return { resultType: 'task', ...taskOf(await runner.create(call)) };
  };
  const isDelegated = (taskId: string) => taskId.startsWith('task_');

  return {
    async call(request) {
      const { caller, params, capabilities } = request;
      const mode = tools.taskModeOf(String(params.name));
      // A session never gets a task: it is notified when its delegated task ends.
      const asTask = knowsTasks(capabilities) && !caller.session;
      if (mode === 'required' && !asTask) throw tasksMissing();
      if (mode === undefined || !asTask) {
        const known = asTask ? capabilities : withoutTasks(capabilities);
        const outcome = await tools.call(caller, toolCallOf({ ...request, capabilities: known }));
        if (!asTask || isInputRequired(outcome)) return outcome;
        const { [startedTaskKey]: started, [continuesKey]: state } = outcome._meta ?? {};
        if (typeof started === 'string')
          return {
            resultType: 'task',
            ...taskOf(delegatedOf(await tasks.get(caller.principal.tenant, started))),
          };
        return state === undefined ? outcome : startTask(request, state);
      }
      const asked = await tools.beforeTask(caller, toolCallOf(request));
      if (asked) return asked;
      return startTask(request);
    },
    async get(caller, taskId) {
      const task = isDelegated(taskId)
        ? delegatedOf(await findDelegated(caller, taskId))
        : await runner.get(caller, taskId);
      const { status, inputRequests, result, error } = task;
      return {
        resultType: 'complete',
        ...taskOf(task),
        ...(status === 'input_required' ? { inputRequests } : {}),
        ...(status === 'completed' ? { result } : {}),
        ...(status === 'failed' ? { error } : {}),
      };
    },
    async update(caller, taskId, inputs) {
      if (isDelegated(taskId)) await findDelegated(caller, taskId);
      else await runner.resume(caller, taskId, inputs);
      return { resultType: 'complete' };
    },
    async cancel(caller, taskId) {
      if (isDelegated(taskId)) {
        await findDelegated(caller, taskId);
        await tasks.cancel(caller.principal.tenant, taskId);
      } else await runner.cancel(caller, taskId);
      return { resultType: 'complete' };
    },
    close: runner.close,
  };
}

/** The fields of a task that every response has. */
function taskOf(task: CallTask) {
  return {
    taskId: task.taskId,
    status: task.status,
    createdAt: new Date(task.createdAtMs).toISOString(),
    lastUpdatedAt: new Date(task.updatedAtMs).toISOString(),
    ttlMs: task.ttlMs,
    pollIntervalMs,
  };
}

type DelegatedTask = Awaited<ReturnType<Dispatch['tasks']['get']>>;

/**
 * Maps a delegated task to the extension's states. A failed one is `completed` with `isError`: its sub-agent
 * did run.
 */
function delegatedOf(task: DelegatedTask): CallTask {
  const { taskId, threadId, status, verdict } = task;
  const ended = status === 'completed' || status === 'failed';
  const text = task.result ?? task.error?.message ?? '';
  const result = {
    resultType: 'complete',
    content: [{ type: 'text', text }],
    structuredContent: { message: text, taskId, threadId, verdict },
    isError: status === 'failed',
  };
  return {
    taskId,
    status: status === 'failed' ? 'completed' : status === 'input_required' ? 'working' : status,
    call: undefined,
    createdAtMs: Date.parse(task.createdAt),
    updatedAtMs: Date.parse(task.updatedAt),
    ttlMs: delegatedTtlMs,
    ...(ended ? { result } : {}),
    inputRequests: {},
    inputs: {},
  };
}

/** Minimum time that a delegated task is kept, ms. */
const delegatedTtlMs = 86_400_000;
