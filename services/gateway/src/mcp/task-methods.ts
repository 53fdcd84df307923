/**
 * The MCP tasks extension. Its tasks are delegated tasks, and tool calls that outlive their request ("call
 * tasks").
 */
import { randomUUID } from 'node:crypto';
import { AppError, toAppError } from '@harness/contracts';
import { type CallTask, type CallTaskChange, type Dispatch, untilReached } from '@harness/dispatch';
import { type InputRequired, isInputRequired, type ToolResult } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import { type Caller, requireScope } from '../http/authenticate.ts';
import type { ToolCalls } from '../tools/tool-calls.ts';
import { type McpRequest, toolCallOf } from './methods.ts';
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

/** What a gateway needs to repeat the call. */
interface StoredCall {
  caller: Caller;
  params: Params;
  capabilities: Record<string, unknown>;
  /** The client's responses to questions before the task was created. */
  inputs?: McpRequest['inputs'];
}

const pollIntervalMs = 1_000;
/** Key of a result's `_meta` with which a tool reports the task that its call has created. */
const startedTaskKey = 'harness/taskId';

/** Whether the client's capabilities include the extension. */
export const knowsTasks = ({ extensions }: Record<string, unknown>): boolean =>
  typeof extensions === 'object' && extensions !== null && tasksExtension in extensions;

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
  const { dispatch, tools, logger, faultOf } = deps;
  const { callTasks, tasks, replicas } = dispatch;
  const running = new Map<string, AbortController>();
  let closed = false;
  const stop = replicas.onSignal((signal) => {
    if (signal.kind === 'task_cancelled') running.get(signal.taskId)?.abort(cancelled());
  });

  const outcomeOf = async (task: CallTask<StoredCall>, signal: AbortSignal): Promise<CallTaskChange> => {
    const { call, inputs, state } = task;
    const request = { ...call, inputs: { ...call.inputs, ...inputs }, state, signal };
    try {
      const outcome = await tools.call(
        call.caller,
        toolCallOf({ ...request, logLevel: undefined, notify: () => undefined }),
      );
      if (!isInputRequired(outcome)) return endOf(outcome);
      return {
        status: 'input_required',
        requests: { ...outcome.inputRequests },
        state: outcome.state,
      };
    } catch (thrown) {
      return { status: 'failed', error: faultOf(thrown) };
    }
  };
  const run = async (tenant: string, task: CallTask<StoredCall>) => {
    const { taskId } = task;
    const abort = new AbortController();
    running.set(taskId, abort);
    const outcome = await outcomeOf(task, abort.signal);
    running.delete(taskId);
    if (closed) return; // aborted by shutdown: readers will find that this gateway has stopped
    await untilReached(
      () => callTasks.move(tenant, taskId, outcome),
      () => closed,
    );
  };
  const start = (tenant: string, task: CallTask) => {
    run(tenant, task as CallTask<StoredCall>).catch((error) =>
      logger.error({ err: error, taskId: task.taskId }, 'task not ended'),
    );
  };
  const find = async ({ principal: { tenant } }: Caller, taskId: string): Promise<CallTask> => {
    const task = await callTasks.get(tenant, taskId);
    if (!task) throw notFound(taskId);
    return task;
  };
  const findDelegated = (caller: Caller, taskId: string) => {
    requireScope(caller, 'tasks');
    if (caller.session) throw notFound(taskId); // a session is notified of its tasks and may not read others
    return tasks.get(caller.principal.tenant, taskId);
  };
  /** Stores the client's responses; once none is missing, the call is repeated at this gateway. */
  const resume = async (caller: Caller, taskId: string, inputs: Params) => {
    const { tenant } = caller.principal;
    const answerId = randomUUID();
    const answer = async () => {
      const outcome = await callTasks.answer(tenant, taskId, { answerId, inputs });
      if (outcome === 'unknown') throw notFound(taskId);
      const task = outcome === 'resumed' ? await find(caller, taskId) : undefined;
      if (task?.status === 'working') start(tenant, task); // not cancelled meanwhile
    };
    try {
      await answer();
    } catch (error) {
      // Redis may have stored the responses: then only this gateway can continue the call, so retry in the
      // background.
      if (toAppError(error).retry)
        untilReached(answer, () => closed).catch((failed) =>
          logger.warn({ err: failed, taskId }, 'response to a task not stored'),
        );
      throw error;
    }
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
        const outcome = await tools.call(caller, toolCallOf(request));
        const started = isInputRequired(outcome) ? undefined : outcome._meta?.[startedTaskKey];
        if (!asTask || typeof started !== 'string') return outcome;
        return {
          resultType: 'task',
          ...taskOf(delegatedOf(await tasks.get(caller.principal.tenant, started))),
        };
      }
      const asked = await tools.beforeTask(caller, toolCallOf(request));
      if (asked) return asked;
      const { tenant } = caller.principal;
      const stored: StoredCall = { caller, params, capabilities, inputs: request.inputs };
      const task = await callTasks.create(tenant, stored);
      start(tenant, task);
      return { resultType: 'task', ...taskOf(task) };
    },
    async get(caller, taskId) {
      const task = isDelegated(taskId)
        ? delegatedOf(await findDelegated(caller, taskId))
        : await find(caller, taskId);
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
      else await resume(caller, taskId, inputs);
      return { resultType: 'complete' };
    },
    async cancel(caller, taskId) {
      const { tenant } = caller.principal;
      if (isDelegated(taskId)) {
        await findDelegated(caller, taskId);
        await tasks.cancel(tenant, taskId);
      } else {
        await find(caller, taskId);
        await callTasks.move(tenant, taskId, { status: 'cancelled' });
        await replicas.broadcast({ kind: 'task_cancelled', taskId });
      }
      return { resultType: 'complete' };
    },
    close() {
      closed = true;
      stop();
      for (const abort of running.values())
        abort.abort(new AppError('turn_cancelled', 'The call was stopped because the gateway shuts down.'));
    },
  };
}

const notFound = (taskId: string) => new AppError('task_not_found', `There is no task "${taskId}".`);
const cancelled = () => new AppError('turn_cancelled', 'The task was cancelled.');

/** A tool that failed also has a result; the status `failed` is for calls without one. */
function endOf(result: ToolResult) {
  return { status: 'completed' as const, result: { resultType: 'complete', ...result } };
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
