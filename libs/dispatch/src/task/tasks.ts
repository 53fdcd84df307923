/**
 * Delegated tasks as callers and workers manage them.
 *
 * This folder:
 *   tasks.lua        open work below a thread, closing and cancelling (shared definitions)
 *   create-task.lua, cancel-task.lua  scripts of this file
 * worker/repair-task.lua repairs a task whose mail was lost; bus/bus.lua has its work on the bus.
 */
import {
  AppError,
  jsonOf,
  newRunId,
  newTaskId,
  newThreadId,
  type Task,
  type TaskWorkspace,
} from '@harness/contracts';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { RefuseWorkspace } from '../files/workspace-refusal.ts';
import { checkinQueue, type Doorbell } from '../lease/doorbell.ts';
import { type QuotaInScript, type QuotaRefusal, quotaError } from '../quota/quota.ts';
import { digestOf, sha256 } from '../redis/digest.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { reached } from '../redis/reached.ts';
import { type Hash, taskOf } from '../redis/records.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { cancelledMailOf } from '../thread/mail.ts';
import type { Sender } from '../thread/sender.ts';
import { idOfNamedThread, threadNotFound } from '../thread/thread-id.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['create-task', 'cancel-task'] });

/** A task to be created. */
export interface NewTask {
  tenant: string;
  prompt: string;
  parentThreadId?: string | undefined;
  model?: string | undefined;
  /** The agent profile that the sub-agent uses. */
  agent?: string | undefined;
  /** Requested tools; the sub-agent gets those that its parent has, too. */
  allowedTools?: readonly string[] | undefined;
  /** Who creates it; absent = the host itself, without bounds. */
  sender?: Sender | undefined;
  /** Reviews before the result is accepted as it is. Default 5. */
  maxIterations?: number | undefined;
  /** Who does the work; the fleet does the review in either case. Default fleet. */
  target?: Task['target'] | undefined;
  /**
   * The files that the sub-agent begins with: as of the end of its parent's latest turn, or none (`empty`). Default: as
   * its parent.
   */
  workspace?: TaskWorkspace | undefined;
  /** The skill whose instructions are the prompt, and its arguments. */
  skill?: { name: string; arguments: string } | undefined;
  /** From REST: the caller's Idempotency-Key. */
  idempotencyKey?: string | undefined;
  /** From a turn: the tool call that creates the task; a repeat of the call finds the same task. */
  call?: { runId: string; toolUseId?: string | undefined; attempt: number } | undefined;
}

/** A job of the check-in queue. */
export interface CheckinJob {
  taskId: string;
  noteId: string;
  message: string;
}

/** Delegated tasks of all tenants. A task of another tenant counts as not found. */
export interface Tasks {
  /**
   * Creates a task, its thread and its first mail in one step. `existing`: an earlier call has created it.
   * Throws thread_not_found, agent_not_found, invalid_request, idempotency_conflict, task_depth_exceeded,
   * too_many_children, task_chain_exceeded, bus_full, limit_reached, workspace_refused, unavailable.
   */
  create(task: NewTask): Promise<{ task: Task; existing: boolean }>;
  /** Throws task_not_found. */
  get(tenant: string, taskId: string): Promise<Task>;
  /** The task of any tenant: for the host itself, never for a caller. */
  find(taskId: string): Promise<Task | null>;
  /** Newest first. */
  list(tenant: string, page: { limit: number; offset: number }): Promise<Task[]>;
  /** Tasks that the thread has delegated, newest first. */
  ofThread(tenant: string, threadId: string): Promise<Task[]>;
  /** Cancels a task and everything below it; ended tasks stay as they are. Throws task_not_found. */
  cancel(tenant: string, taskId: string): Promise<Task>;
  /** From now on MCP clients are notified of changes of `harness://tasks/<taskId>`. Throws task_not_found. */
  watch(tenant: string, taskId: string): Promise<void>;
  /** Reports progress to the parent, once per tool-use id. Throws `unavailable`. */
  checkin(progress: { taskId: string; message: string; toolUseId: string }): Promise<void>;
  close(): Promise<void>;
}

/** Reviews of a task that sets no limit. */
export const defaultIterations = 5;

/** How long a task is watched after the latest subscription, ms: as long as finished tasks are kept by default. */
const watchMs = 7 * 86_400_000;

interface Created {
  outcome:
    | 'created'
    | 'existing'
    | 'conflict'
    | 'parent_not_found'
    | 'agent_not_found'
    | 'cancelled'
    | 'depth'
    | 'children'
    | 'chain'
    | 'bus_full'
    | 'quota';
  taskId: string;
  threadId: string;
  owner?: string;
  limit?: number;
}

/** Opens the check-in queue, too. */
export function createTasks(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  doorbell: Doorbell;
  logger: Log;
  quotaOf: QuotaInScript;
  refuseWorkspace: RefuseWorkspace;
  traceNow(): string | undefined;
}): Tasks {
  const { refuseWorkspace, quotaOf, redis, keys, scripts, doorbell, traceNow } = deps;
  const checkins = createCheckins(deps);
  const hashOf = (taskId: string): Promise<Hash> => reached(redis.hgetall(keys.of('task', taskId)));
  const get = async (tenant: string, taskId: string) => {
    const hash = await hashOf(taskId);
    if (hash.tenant !== tenant)
      throw new AppError(
        'task_not_found',
        `There is no task ${taskId}. Check the id: GET /v1/tasks lists the tasks.`,
      );
    return taskOf(hash);
  };

  return {
    get,
    async watch(tenant, taskId) {
      await get(tenant, taskId);
      await reached(redis.set(keys.of('twatch', taskId), '1', 'PX', watchMs));
    },
    async find(taskId) {
      const hash = await hashOf(taskId);
      return hash.taskId === undefined ? null : taskOf(hash);
    },
    async create({
      idempotencyKey,
      call,
      maxIterations = defaultIterations,
      target = 'fleet',
      sender,
      ...rest
    }) {
      await refuseWorkspace(rest.workspace === true || rest.workspace === 'empty');
      const wish = { ...rest, ...(target === 'bus' ? { target } : {}) };
      if (target === 'bus' && wish.agent !== undefined)
        throw new AppError(
          'invalid_request',
          'A task for the bus is done by an external worker, so it cannot name an agent. Omit agent, or use target "fleet".',
        );
      const answer = await scripts.call<Created>(lua['create-task'], {
        ...wish,
        ...workspaceArgsOf(wish.workspace),
        skill: wish.skill && jsonOf(wish.skill),
        sender,
        trace: traceNow(),
        quota: quotaOf({ tenant: wish.tenant, keyId: sender?.keyId }),
        target,
        maxIterations,
        taskId: newTaskId(),
        threadId: newThreadId(),
        runId: newRunId(),
        ...(idempotencyKey && {
          idemHash: sha256(idempotencyKey),
          bodyHash: digestOf({ ...wish, maxIterations }),
        }),
        ...(call && { call: { ...call, argsHash: digestOf({ ...wish, maxIterations }) } }),
      });
      if (answer.outcome !== 'created' && answer.outcome !== 'existing') throw refusalOf(answer, wish);
      if (target === 'fleet') void doorbell.ring(answer.threadId, answer.owner, 'delegate');
      return { task: await get(wish.tenant, answer.taskId), existing: answer.outcome === 'existing' };
    },
    async list(tenant, { limit, offset }) {
      const ids = await reached(redis.zrevrange(keys.of('tasks', tenant), offset, offset + limit - 1));
      const hashes = await Promise.all(ids.map(hashOf));
      return hashes.filter((hash) => hash.tenant === tenant).map(taskOf);
    },
    async ofThread(tenant, threadId) {
      const own = keys.of('kids', threadId);
      const children = await reached(redis.sunion(own, keys.of('kids', idOfNamedThread(tenant, threadId))));
      const taskIdOf = (child: string) => reached(redis.hget(keys.of('th', child), 'taskId'));
      const hashes = await Promise.all(children.map(async (child) => hashOf((await taskIdOf(child)) ?? '')));
      return hashes
        .filter((hash) => hash.tenant === tenant)
        .sort((one, other) => Number(other.createdAt) - Number(one.createdAt))
        .map(taskOf);
    },
    async cancel(tenant, taskId) {
      const mail = cancelledMailOf(await get(tenant, taskId));
      const answer = await scripts.call<{
        threadId?: string;
        owner?: string;
        rung?: { threadId: string; owner?: string };
      }>(lua['cancel-task'], { tenant, taskId, mail });
      if (answer.threadId) void doorbell.ring(answer.threadId, answer.owner);
      if (answer.rung) void doorbell.ring(answer.rung.threadId, answer.rung.owner, 'notification');
      return get(tenant, taskId);
    },
    checkin: checkins.add,
    close: () => checkins.close(),
  };
}

/** Opens the check-in queue. */
function createCheckins({ redis, keys, logger }: { redis: Redis; keys: Keys; logger: Log }) {
  const queue = new Queue(checkinQueue, { connection: redis, prefix: keys.bull, skipMetasUpdate: true });
  queue.on('error', (error) => logger.debug({ err: error }, 'tasks: check-in queue error'));
  const options = {
    removeOnComplete: true,
    removeOnFail: { count: 1000 },
    attempts: 5,
    backoff: { type: 'exponential', delay: 500 },
  };
  const add: Tasks['checkin'] = async ({ taskId, message, toolUseId }) => {
    const noteId = `${taskId}-${toolUseId}`;
    const job: CheckinJob = { taskId, noteId, message };
    await reached(queue.add('checkin', job, { ...options, jobId: noteId }));
  };
  return { add, close: () => queue.close() };
}

const workspaceArgsOf = (workspace: TaskWorkspace | undefined) => ({
  workspace: workspace === undefined ? undefined : workspace === false ? '0' : '1',
  withoutFiles: workspace === 'empty' || undefined,
});

function refusalOf(
  answer: Created,
  { parentThreadId, agent }: Pick<NewTask, 'parentThreadId' | 'agent'>,
): AppError {
  switch (answer.outcome) {
    case 'cancelled':
      return new AppError('turn_cancelled', 'The run that delegates was cancelled, so no task was created.');
    case 'quota':
      return quotaError(answer as unknown as QuotaRefusal);
    case 'conflict':
      return new AppError(
        'idempotency_conflict',
        'This Idempotency-Key was used with another request. Use a new key for a new request.',
      );
    case 'agent_not_found':
      return new AppError(
        'agent_not_found',
        `There is no agent "${agent}". GET /v1/agents lists the agents.`,
      );
    case 'depth':
      return new AppError(
        'task_depth_exceeded',
        `Sub-agents may delegate at most ${answer.limit} levels deep. Do this work without delegating it.`,
      );
    case 'children':
      return new AppError(
        'too_many_children',
        `This thread already has ${answer.limit} open tasks, its maximum; wait for one to end.`,
      );
    case 'bus_full':
      return new AppError(
        'bus_full',
        `The bus holds ${answer.limit} unfinished tasks, its maximum. Wait until some are done.`,
      );
    case 'chain':
      return new AppError(
        'task_chain_exceeded',
        `One user message may lead to at most ${answer.limit} tasks. Do the rest without delegating it.`,
      );
    default:
      return threadNotFound(parentThreadId ?? '');
  }
}
