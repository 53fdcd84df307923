/**
 * The session of a thread, as callers ask for it and workers report it.
 *
 * This folder:
 *   prewarm.lua, session-state.lua  scripts of this file
 *   transcripts.ts         transcripts, stored so that any worker can resume a conversation
 *   transcript-append.lua  its script
 *   prompt-id.ts           the SDK's message id for a prompt
 *   questions.ts           questions of a session to people
 *   answer-question.lua    its script
 */
import {
  AppError,
  jsonOf,
  type NewEvent,
  type SessionPath,
  type ThreadSession,
  type WorkerSession,
} from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Doorbell } from '../lease/doorbell.ts';
import type { Hold } from '../lease/turn.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import type { Hash } from '../redis/records.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { idOfNamedThread, threadNotFound } from '../thread/thread-id.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['prewarm', 'session-state'] });

/**
 * How much of a conversation the store has. whole: everything. behind: more entries wait in the worker. full:
 * no more, because of the size limit. Unless it is whole, the thread should not move to another worker.
 */
export type TranscriptState = 'whole' | 'behind' | 'full';

/** What a worker reports of a thread's session. */
export interface SessionNote {
  sdkSessionId?: string;
  transcript?: TranscriptState;
  warming?: 'warming' | 'resuming';
  /** The session is warm for this long unless it is used, ms. */
  warmForMs?: number;
  event?: NewEvent;
}

/** Prewarm and state of sessions. */
export interface Sessions {
  /**
   * Requests that the session is started where the thread's next run will be. Idempotent. Throws
   * thread_not_found, unavailable.
   */
  prewarm(tenant: string, threadId: string): Promise<ThreadSession>;
  /** The same; returns false when the tenant has no such thread. */
  tryPrewarm(tenant: string | undefined, threadId: string): Promise<boolean>;
  /** Throws thread_not_found, unavailable. */
  get(tenant: string, threadId: string): Promise<ThreadSession>;
  /** The sessions of all threads that a live worker owns, by thread. Throws worker_not_found, unavailable. */
  ofWorker(workerId: string): Promise<WorkerSession[]>;
  /** Records the owner's report. Returns false when the worker no longer owns the thread. */
  note(hold: Hold, note: SessionNote): Promise<boolean>;
}

/** `doorbell` wakes the worker that starts the session. */
export function createSessions(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  doorbell: Doorbell;
}): Sessions {
  const { redis, keys, scripts, doorbell } = deps;

  const get = async (tenant: string, threadId: string): Promise<ThreadSession> => {
    const read = (ownId: string): Promise<Hash> => reached(redis.hgetall(keys.of('th', ownId)));
    let hash = await read(threadId);
    if (hash.tenant !== tenant) hash = await read(idOfNamedThread(tenant, threadId));
    if (hash.tenant !== tenant) throw threadNotFound(threadId);
    const workerId = hash.owner?.split('#')[0];
    const alive = workerId !== undefined && (await reached(redis.get(keys.of('w', workerId)))) === hash.owner;
    return { threadId: hash.alias ?? threadId, ...sessionOf(hash, alive ? workerId : undefined) };
  };

  const tryPrewarm = async (tenant: string | undefined, threadId: string): Promise<boolean> => {
    const answer = await scripts.call<{ threadId?: string; owner?: string }>(lua.prewarm, {
      tenant,
      threadId,
    });
    if (answer.threadId === undefined) return false;
    await doorbell.ring(answer.threadId, answer.owner, 'prewarm');
    return true;
  };

  return {
    get,
    tryPrewarm,
    async prewarm(tenant, threadId) {
      if (!(await tryPrewarm(tenant, threadId))) throw threadNotFound(threadId);
      return get(tenant, threadId);
    },
    async ofWorker(workerId) {
      const me = await reached(redis.get(keys.of('w', workerId)));
      if (me === null)
        throw new AppError(
          'worker_not_found',
          `There is no live worker ${workerId}. GET /v1/workers lists the workers.`,
        );
      const owned = await reached(redis.smembers(keys.of('own', workerId)));
      const found = await Promise.all(
        owned.sort().map(async (threadId) => {
          const hash: Hash = await reached(redis.hgetall(keys.of('th', threadId)));
          if (hash.owner !== me) return [];
          const { state, epoch, expiresAt, path } = sessionOf(hash, workerId);
          return [
            { tenant: hash.tenant ?? '', threadId: hash.alias ?? threadId, state, epoch, expiresAt, path },
          ];
        }),
      );
      return found.flat();
    },
    async note(hold, { event, ...note }) {
      const { type, ...data } = event ?? {};
      const { outcome } = await scripts.call<{ outcome: string }>(lua['session-state'], {
        ...hold,
        ...note,
        ...(event && { event: { type, data: jsonOf(data) } }),
      });
      return outcome === 'ok';
    },
  };
}

/** Derives the state from the thread's hash; a thread without a live owner is cold. */
function sessionOf(hash: Hash, workerId: string | undefined): Omit<ThreadSession, 'threadId'> {
  const warmUntil = Number(hash.warmUntil ?? 0);
  const path = (hash.path as SessionPath | undefined) ?? null;
  const epoch = Number(hash.epoch ?? 0);
  const movable = hash.transcript === undefined;
  if (workerId === undefined) return { state: 'cold', workerId: null, epoch, expiresAt: null, path, movable };
  const warm = warmUntil > Date.now();
  const resting = hash.warming ? (hash.warming as 'warming' | 'resuming') : warm ? 'warm' : 'cold';
  const state = hash.run ? 'busy' : resting;
  const expiresAt = state === 'warm' ? new Date(warmUntil).toISOString() : null;
  return { state, workerId, epoch, expiresAt, path, movable };
}
