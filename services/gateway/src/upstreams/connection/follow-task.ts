import { setTimeout } from 'node:timers/promises';
import { AppError } from '@harness/contracts';
import { ProtocolError } from '@modelcontextprotocol/client';
import { knowsTasks } from '../../mcp/continued-call.ts';
import type { RawResult, RequestOptions } from './request.ts';

/** Sends one request to the upstream. */
export type Send = (method: string, params: RawResult, options: RequestOptions) => Promise<RawResult>;

/** Shortest, usual and longest wait between two looks at a task, ms; the upstream says which. */
const [minPollMs, defaultPollMs, maxPollMs] = [100, 1_000, 10_000];
/** Looks in a row without an answer, after which a task is given up. */
const maxMisses = 5;
/** Time for one look, ms. */
const lookMs = 30_000;
const prefix = 'task:';

/**
 * Returns the function that calls a tool which may become a task of the upstream, in either era. Where the caller can be given a
 * task, the first call resolves with `{resultType: 'task', continues}`; otherwise, and in a call with `continues`, the task is
 * followed to its result, or to `{resultType: 'input_required', inputRequests, continues}`. A task whose call is cancelled is
 * cancelled.
 */
export function createTaskCalls(send: Send, { isModern }: { isModern: boolean }): Send {
  const look = async (taskId: string, options: RequestOptions): Promise<RawResult> => {
    for (let misses = 0; ; misses++) {
      try {
        return await send('tasks/get', { taskId }, { signal: options.signal, timeoutMs: lookMs });
      } catch (error) {
        if (error instanceof ProtocolError || options.signal?.aborted || misses >= maxMisses) throw error;
        await setTimeout(defaultPollMs, undefined, abortable(options));
      }
    }
  };
  const follow = async (taskId: string, options: RequestOptions): Promise<RawResult> => {
    let said: unknown;
    for (let looks = 1; ; looks++) {
      const task = await look(taskId, options);
      const { status, statusMessage } = task;
      if (typeof statusMessage === 'string' && statusMessage !== said)
        options.onProgress?.({ progress: looks, message: statusMessage });
      said = statusMessage;
      if (status !== 'working')
        return isModern
          ? modernEndOf(task, taskId)
          : // It also carries the questions of a task that needs input, and waits for its end.
            send('tasks/result', { taskId }, options);
      await setTimeout(pollMsOf(task), undefined, abortable(options));
    }
  };

  return async (method, params, options) => {
    const { continues, capabilities = {}, timeoutMs } = options;
    let taskId = continues?.startsWith(prefix) ? continues.slice(prefix.length) : undefined;
    if (taskId === undefined) {
      const result = await send(method, params, options);
      const { task } = result;
      if (!isTask(task)) return result;
      if (knowsTasks(capabilities)) return { resultType: 'task', continues: `${prefix}${task.taskId}` };
      taskId = task.taskId;
    }
    const late = AbortSignal.timeout(timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, late]) : late;
    try {
      if (continues !== undefined && params.inputResponses !== undefined)
        await send('tasks/update', { taskId, inputResponses: params.inputResponses }, { signal, timeoutMs });
      return await follow(taskId, { ...options, signal });
    } catch (error) {
      if (!signal.aborted) throw error;
      send('tasks/cancel', { taskId }, { timeoutMs: lookMs }).catch(() => undefined); // it expires anyway
      if (options.signal?.aborted) throw options.signal.reason;
      throw new AppError('tool_timeout', `The task of the upstream did not end within ${timeoutMs} ms.`);
    }
  };
}

/** What a task of 2026-07-28 that does not work any more, or needs input, has become. */
function modernEndOf(
  { status, result, error, inputRequests, statusMessage }: RawResult,
  taskId: string,
): RawResult {
  if (status === 'completed') return (result ?? {}) as RawResult;
  if (status === 'input_required')
    return { resultType: 'input_required', inputRequests, continues: `${prefix}${taskId}` };
  const {
    code = -32603,
    message = statusMessage ?? `The task is ${String(status)}.`,
    data,
  } = (error ?? {}) as RawResult;
  throw new ProtocolError(Number(code), String(message), data);
}

const isTask = (task: unknown): task is { taskId: string } =>
  typeof (task as { taskId?: unknown } | undefined)?.taskId === 'string';

/** The upstream's wish: `pollIntervalMs` in 2026-07-28, `pollInterval` in 2025-11-25. */
const pollMsOf = ({ pollIntervalMs, pollInterval }: RawResult): number =>
  Math.min(maxPollMs, Math.max(minPollMs, Number(pollIntervalMs ?? pollInterval) || defaultPollMs));

const abortable = ({ signal }: RequestOptions) => (signal ? { signal } : {});
