/** MCP's tasks extension: our delegated tasks, and tool calls that outlive their request, in its words. */
import { randomUUID } from 'node:crypto';
import { AppError, toAppError } from '@harness/contracts';
import { type CallTask, type CallTaskChange, type Dispatch, untilReached } from '@harness/dispatch';
import { type InputRequired, isInputRequired, type ToolResult } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import { type Caller, requireScope } from '../http/authenticate.ts';
import type { ToolCalls } from '../tools/tool-calls.ts';
import { type McpRequest, toolCallOf } from './methods.ts';
import { faultOf, type Params } from './wire/json-rpc.ts';
import { tasksExtension } from './wire/server-identity.ts';

export interface TaskDoor {
  /** A tools/call of a client that may know the extension: a result, a question, or a task. */
  call(request: McpRequest): Promise<object | InputRequired>;
  /** tasks/get, tasks/update, tasks/cancel. Throws `task_not_found`. */
  get(caller: Caller, taskId: string): Promise<object>;
  update(caller: Caller, taskId: string, inputs: Params): Promise<object>;
  cancel(caller: Caller, taskId: string): Promise<object>;
  close(): void;
}

/** What is needed to make a call again, at any gateway. */
interface StoredCall {
  caller: Caller;
  params: Params;
  capabilities: Record<string, unknown>;
  /** What was asked before the task was made. */
  inputs?: McpRequest['inputs'];
}

const pollIntervalMs = 1_000;
/** A tool says with it that its call has started this task. */
const startedTaskKey = 'harness/taskId';

export const knowsTasks = ({ extensions }: Record<string, unknown>): boolean =>
  typeof extensions === 'object' && extensions !== null && tasksExtension in extensions;

/** Throws `capability_missing`. */
export function requireTasks(capabilities: Record<string, unknown>): void {
  if (!knowsTasks(capabilities)) throw tasksMissing();
}

const tasksMissing = () =>
  new AppError('capability_missing', `The client must declare the extension ${tasksExtension}.`, {
    details: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
  });

export function createTaskDoor(deps: { dispatch: Dispatch; tools: ToolCalls; logger: Logger }): TaskDoor {
  const { dispatch, tools, logger } = deps;
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
    if (closed) return; // it was cut short here: whoever looks finds this gateway gone
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
    if (caller.session) throw notFound(taskId); // it is told of its tasks, and knows no others
    return tasks.get(caller.principal.tenant, taskId);
  };
  /** With the last answer the call is made again, here. */
  const resume = async (caller: Caller, taskId: string, inputs: Params) => {
    const { tenant } = caller.principal;
    const answerId = randomUUID();
    const answer = async () => {
      const outcome = await callTasks.answer(tenant, taskId, { answerId, inputs });
      if (outcome === 'unknown') throw notFound(taskId);
      const task = outcome === 'resumed' ? await find(caller, taskId) : undefined;
      if (task?.status === 'working') start(tenant, task); // nobody has cancelled it meanwhile
    };
    try {
      await answer();
    } catch (error) {
      // Redis may have taken it: then nobody else goes on with the call.
      if (toAppError(error).retry)
        untilReached(answer, () => closed).catch((failed) =>
          logger.warn({ err: failed, taskId }, 'answer to a task not taken'),
        );
      throw error;
    }
  };
  const isDelegated = (taskId: string) => taskId.startsWith('task_');

  return {
    async call(request) {
      const { caller, params, capabilities } = request;
      const mode = tools.taskModeOf(String(params.name));
      // A session goes on by itself: it is told when a task ends.
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
        abort.abort(new AppError('turn_cancelled', 'The gateway is being stopped.'));
    },
  };
}

const notFound = (taskId: string) => new AppError('task_not_found', `There is no task "${taskId}".`);
const cancelled = () => new AppError('turn_cancelled', 'The task was cancelled.');

/** A tool that failed has a result all the same; `failed` is for calls that came to none. */
function endOf(result: ToolResult) {
  return { status: 'completed' as const, result: { resultType: 'complete', ...result } };
}

/** What every answer about a task carries. */
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

/** The one place where our states become the extension's. A sub-agent that failed ran: that is a result. */
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

/** At least so long a delegated task is kept. */
const delegatedTtlMs = 86_400_000;
