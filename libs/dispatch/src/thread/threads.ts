/**
 * Threads as callers manage them.
 *
 * This folder:
 *   threads.lua          ids, creation, retention, deletion (shared definitions)
 *   mailbox.lua          delivery, cancellation and completion of mail (shared definitions)
 *   thread-tools.lua     script: the tools that a thread, its agent and its skill allow
 *   tools-of-thread.lua  which tools a thread and a run may use (shared definitions)
 *   sender.ts            who makes threads and sends messages, and with which rights
 *   thread-id.ts         the own id of a thread that a caller names
 *   fork-thread.ts       a thread with the conversation of another one
 *   runs.ts              messages and their runs
 *   mail.ts              mail that the system writes
 *   waiting.ts           age of the oldest waiting message
 *   append.lua, cancel-run.lua                             scripts of runs.ts
 *   create-thread.lua, update-thread.lua, delete-thread.lua  scripts of this file
 */
import {
  AppError,
  type CreateThread,
  type ForkThread,
  jsonOf,
  newThreadId,
  type Thread,
  type UpdateThread,
} from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Losses } from '../fail-over/losses.ts';
import type { RefuseWorkspace } from '../files/workspace-refusal.ts';
import type { Doorbell } from '../lease/doorbell.ts';
import { type QuotaInScript, type QuotaRefusal, quotaError } from '../quota/quota.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Hash, taskOf, threadOf } from '../redis/records.ts';
import { listOf, type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { createLatestRuns, type LatestRuns } from '../thread-list/latest-runs.ts';
import { createThreadList, type ListThreads } from '../thread-list/thread-list.ts';
import { createForking } from './fork-thread.ts';
import { cancelledMailOf } from './mail.ts';
import type { Sender } from './sender.ts';
import { idOfNamedThread, threadNotFound } from './thread-id.ts';

const lua = scriptsBeside(import.meta.url, {
  confirmed: ['create-thread', 'update-thread', 'delete-thread'],
  unconfirmed: ['thread-tools'],
});

/**
 * Threads of all tenants. `threadId` is an own id or the caller's name of a thread, unless stated otherwise.
 */
export interface Threads {
  /**
   * Creates a thread. `created` is false when `ifExists: doNothing` found one. `sender`: an upper bound
   * of its tools. Throws `thread_exists`, `limit_reached` and `workspace_refused`.
   */
  create(
    tenant: string,
    request: CreateThread,
    sender?: Sender,
  ): Promise<{ thread: Thread; created: boolean }>;
  /** Creates a thread under a derived own id, unless it exists: see `derivedThreadId`. */
  ensure(
    thread: { tenant: string; ownId: string },
    profile?: Omit<CreateThread, 'threadId' | 'ifExists'>,
    sender?: Sender,
  ): Promise<void>;
  /** Throws `thread_not_found`, also for a thread of another tenant. */
  get(tenant: string, threadId: string): Promise<Thread>;
  /** The tools that the thread, its agent and its active skill all allow; undefined = all. Throws `thread_not_found`. */
  toolsOf(tenant: string, threadId: string): Promise<readonly string[] | undefined>;
  /** The thread and its own id, by which its runs and events are stored. Throws `thread_not_found`. */
  locate(tenant: string, threadId: string): Promise<{ thread: Thread; ownId: string }>;
  /** A page of threads, most recently used first. Throws `invalid_request` for a cursor of another form. */
  list: ListThreads;
  /** The latest run of each thread, by own ids. */
  latestRuns: LatestRuns;
  /**
   * Changes a thread. Null clears a field, an absent one stays. A turn in progress keeps what it began with.
   * Throws `thread_not_found`, and `invalid_request` for tools that the thread's parent does not have or that
   * the sender does not have, and `forbidden` when
   * the thread itself has tools that the sender does not have.
   */
  update(
    thread: { tenant: string; threadId: string },
    change: UpdateThread,
    sender?: Sender,
  ): Promise<Thread>;
  /**
   * Creates a thread with the conversation and the files of another one, as they are or as they were at the end of a run.
   * It has that thread's settings, but no task and no parent. `sender`: an upper bound of its tools. Throws
   * `thread_not_found`, `run_not_found`, `thread_exists`, `limit_reached`, and `wrong_state` for a run that has not ended or a
   * conversation that is not stored completely.
   */
  fork(tenant: string, threadId: string, fork: { wish: ForkThread; sender?: Sender }): Promise<Thread>;
  /**
   * Deletes a thread and every thread below it. The task that it works on is cancelled, and the task's parent
   * is notified. Throws `thread_not_found`.
   */
  delete(tenant: string, threadId: string): Promise<void>;
}

const flagOf = (value: unknown) => (value ? '1' : '0');

/** A thread's settings as Redis stores them; null and absent ones are omitted. */
const storedOf = (profile: UpdateThread & Pick<CreateThread, 'workspace'>): Hash =>
  Object.fromEntries(
    Object.entries(profile).flatMap(([name, value]) => {
      if (value === null || value === undefined) return [];
      return [
        [name, typeof value === 'string' ? value : name === 'workspace' ? flagOf(value) : jsonOf(value)],
      ];
    }),
  );

type Made = { outcome: 'created' | 'exists' } | ({ outcome: 'quota' } & QuotaRefusal);

type Updated = 'updated' | 'not_found' | 'too_wide' | 'above';

/** The error for a change that update-thread.lua refuses. */
function updateRefusalOf(outcome: Exclude<Updated, 'updated'>, threadId: string): AppError {
  if (outcome === 'not_found') return threadNotFound(threadId);
  if (outcome === 'above')
    return new AppError(
      'forbidden',
      'This thread has tools that your key does not have, so the key may not change its prompt, tools, agent or skill. Use a key with these tools.',
    );
  return new AppError(
    'invalid_request',
    'allowedTools has tools that this thread may not have: a delegated thread has only tools of its parent, and a key grants only tools that it has itself. Send fewer tools.',
  );
}

/** `losses` is notified of deleted threads, so that their messages do not count as lost. */
export function createThreads(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  doorbell: Doorbell;
  losses: Losses;
  quotaOf: QuotaInScript;
  refuseWorkspace: RefuseWorkspace;
}): Threads {
  const { refuseWorkspace, quotaOf, redis, keys, scripts, doorbell, losses } = deps;
  const makeFork = createForking(deps);
  const find = async (tenant: string, ownId: string) => {
    const hash: Hash = await reached(redis.hgetall(keys.of('th', ownId)));
    return hash.tenant === tenant ? { ownId, thread: threadOf(ownId, hash) } : undefined;
  };
  const locate = async (tenant: string, threadId: string) => {
    const found = (await find(tenant, threadId)) ?? (await find(tenant, idOfNamedThread(tenant, threadId)));
    if (!found) throw threadNotFound(threadId);
    return found;
  };
  const get = async (tenant: string, threadId: string) => (await locate(tenant, threadId)).thread;
  return {
    get,
    locate,
    async ensure({ tenant, ownId }, profile = {}, sender) {
      const fields = { tenant, ...storedOf(profile) };
      const made = await scripts.call<Made>(lua['create-thread'], {
        threadId: ownId,
        fields,
        sender,
        quota: quotaOf({ tenant, keyId: sender?.keyId }),
      });
      if (made.outcome === 'quota') throw quotaError(made);
    },
    async create(tenant, request, sender) {
      await refuseWorkspace(request.workspace === true);
      const { threadId = newThreadId(), ifExists = 'raise', ...profile } = request;
      const fields = { tenant, ...storedOf(profile) };
      const named = request.threadId !== undefined;
      const args = { threadId, named, fields, sender, quota: quotaOf({ tenant, keyId: sender?.keyId }) };
      const made = await scripts.call<Made>(lua['create-thread'], args);
      if (made.outcome === 'quota') throw quotaError(made);
      if (made.outcome === 'exists' && ifExists === 'raise') {
        throw new AppError(
          'thread_exists',
          `Thread ${threadId} already exists. Choose another threadId, or send ifExists "doNothing".`,
        );
      }
      return { thread: await get(tenant, threadId), created: made.outcome === 'created' };
    },
    async update({ tenant, threadId }, change, sender) {
      const clear = Object.entries(change).flatMap(([name, value]) => (value === null ? [name] : []));
      const args = { threadId, tenant, set: storedOf(change), clear, sender };
      const { outcome } = await scripts.call<{ outcome: Updated }>(lua['update-thread'], args);
      if (outcome !== 'updated') throw updateRefusalOf(outcome, threadId);
      return get(tenant, threadId);
    },
    async fork(tenant, threadId, { wish, sender }) {
      const source = await locate(tenant, threadId);
      return get(tenant, await makeFork({ tenant, ...source }, wish, sender));
    },
    async toolsOf(tenant, threadId) {
      const { outcome, tools } = await scripts.call<{ outcome: 'ok' | 'not_found'; tools?: string }>(
        lua['thread-tools'],
        { tenant, threadId },
      );
      if (outcome === 'not_found') throw threadNotFound(threadId);
      return tools === undefined ? undefined : (JSON.parse(tools) as string[]);
    },
    list: createThreadList(deps),
    latestRuns: createLatestRuns(deps),
    async delete(tenant, threadId) {
      const { ownId } = await locate(tenant, threadId);
      const taskId = await reached(redis.hget(keys.of('th', ownId), 'taskId'));
      const task = taskId ? taskOf(await reached(redis.hgetall(keys.of('task', taskId)))) : undefined;
      const { outcome, rung, threadIds } = await scripts.call<{
        outcome: string;
        threadIds?: string[];
        rung?: { threadId: string; owner?: string };
      }>(lua['delete-thread'], {
        tenant,
        threadId,
        mail: task?.parentThreadId ? cancelledMailOf(task) : undefined,
      });
      if (outcome === 'not_found') throw threadNotFound(threadId);
      for (const deleted of listOf(threadIds)) losses.deleted(deleted);
      if (rung) void doorbell.ring(rung.threadId, rung.owner, 'notification');
    },
  };
}
