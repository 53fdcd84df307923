import { randomUUID } from 'node:crypto';
import { AppError, toAppError } from '@harness/contracts';
import { type CallTask, type CallTaskChange, type Dispatch, untilReached } from '@harness/dispatch';
import { isInputRequired, type ToolResult } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import type { Caller } from '../http/credentials/authenticate.ts';
import type { ToolCalls } from '../tools/tool-calls.ts';
import { type McpRequest, toolCallOf } from './methods.ts';
import type { FaultOf, Params } from './wire/json-rpc.ts';

/** What a gateway needs to repeat the call. */
export interface StoredCall {
  caller: Caller;
  params: Params;
  capabilities: Record<string, unknown>;
  /** The client's responses to questions before the task was created. */
  inputs?: McpRequest['inputs'];
  /** The state in which the tool handed the call over to the task. */
  state?: unknown;
}

/** Runs tool calls that outlive their request, as tasks of this gateway. */
export interface TaskRunner {
  /** Creates a task for the call, and starts it. */
  create(call: StoredCall): Promise<CallTask>;
  /** Throws `task_not_found`. */
  get(caller: Caller, taskId: string): Promise<CallTask>;
  /**
   * Stores the client's responses to the questions of a task; once none is missing, repeats its call at this
   * gateway. Throws `task_not_found` and `unavailable`.
   */
  resume(caller: Caller, taskId: string, inputs: Params): Promise<void>;
  /** Cancels the task, at whichever gateway it runs. Throws `task_not_found`. */
  cancel(caller: Caller, taskId: string): Promise<void>;
  /** Aborts the calls that run here. */
  close(): void;
}

/** The error for a task that the caller's tenant does not have. */
export const taskNotFound = (taskId: string): AppError =>
  new AppError('task_not_found', `There is no task "${taskId}".`);

/** Creates the runner of one gateway. */
export function createTaskRunner(deps: {
  dispatch: Dispatch;
  tools: ToolCalls;
  logger: Logger;
  faultOf: FaultOf;
}): TaskRunner {
  const { tools, logger, faultOf } = deps;
  const { callTasks, replicas } = deps.dispatch;
  const running = new Map<string, AbortController>();
  let closed = false;
  const stop = replicas.onSignal((signal) => {
    if (signal.kind === 'task_cancelled')
      running.get(signal.taskId)?.abort(new AppError('turn_cancelled', 'The task was cancelled.'));
  });

  const outcomeOf = async (task: CallTask<StoredCall>, signal: AbortSignal): Promise<CallTaskChange> => {
    const { call, inputs, state = call.state } = task;
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

  const get = async ({ principal: { tenant } }: Caller, taskId: string): Promise<CallTask> => {
    const task = await callTasks.get(tenant, taskId);
    if (!task) throw taskNotFound(taskId);
    return task;
  };

  return {
    async create(call) {
      const { tenant } = call.caller.principal;
      const task = await callTasks.create(tenant, call);
      start(tenant, task);
      return task;
    },
    get,
    async resume(caller, taskId, inputs) {
      const { tenant } = caller.principal;
      const answerId = randomUUID();
      const answer = async () => {
        const outcome = await callTasks.answer(tenant, taskId, { answerId, inputs });
        if (outcome === 'unknown') throw taskNotFound(taskId);
        const task = outcome === 'resumed' ? await get(caller, taskId) : undefined;
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
    },
    async cancel(caller, taskId) {
      await get(caller, taskId);
      await callTasks.move(caller.principal.tenant, taskId, { status: 'cancelled' });
      await replicas.broadcast({ kind: 'task_cancelled', taskId });
    },
    close() {
      closed = true;
      stop();
      for (const abort of running.values())
        abort.abort(new AppError('turn_cancelled', 'The call was stopped because the gateway shuts down.'));
    },
  };
}

/** A tool that failed also has a result; the status `failed` is for calls without one. */
function endOf(result: ToolResult) {
  return { status: 'completed' as const, result: { resultType: 'complete', ...result } };
}
