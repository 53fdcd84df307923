/**
 * Versions of threads' files: which one is a thread's current one, and which ones are still referred to. The files
 * themselves are stored by libs/workspaces.
 *
 * A version becomes a thread's current one by `commit` and `hand-back` of its turn's worker, fenced, or by `set` between
 * turns. The digest is committed only after the files are durable.
 *
 * This folder:
 *   files.lua      sets a version, notes what a task has changed (shared definitions)
 *   set-files.lua  script of this file
 *   workspace-refusal.ts  refuses workspaces where there are none
 */
import { AppError, type FileChanges, jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { threadNotFound } from '../thread/thread-id.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['set-files'] });

/** Versions of threads' files. Every method throws `unavailable` when Redis does not answer. */
export interface Files {
  /**
   * Makes `change.version` the current version of the thread's files, if it is `from` now (undefined = none). Throws
   * thread_not_found; run_in_progress, during a turn; precondition_failed with the current version in `details.version`.
   */
  set(
    thread: { tenant: string; threadId: string },
    from: string | undefined,
    change: FileChanges,
  ): Promise<void>;
  /**
   * Every version that a thread of the tenant or one of its listed runs refers to, and the files of messages; some more
   * than once. For garbage collection.
   */
  live(tenant: string): AsyncIterable<string>;
  /** Tenants that have threads. */
  tenants(): Promise<string[]>;
  /**
   * A random id of this Redis's data, made at the first call. Files that belong to other data (this one was emptied, or
   * restored from elsewhere) must not be collected as garbage.
   */
  installationId(): Promise<string>;
}

/** Threads whose runs are read together. */
const together = 10;

/** Creates the room. */
export function createFiles(deps: { redis: Redis; keys: Keys; scripts: Scripts }): Files {
  const { redis, keys, scripts } = deps;
  const versionsOf = async (threadId: string): Promise<(string | null)[]> => {
    const [files, runIds] = await Promise.all([
      reached(redis.hmget(keys.of('th', threadId), 'files', 'filesBefore')),
      reached(redis.zrevrange(keys.of('runs', threadId), 0, -1)),
    ]);
    const ofRuns = await Promise.all(
      runIds.map((runId) => reached(redis.hmget(keys.of('run', runId), 'files', 'filesIn'))),
    );
    return [...files, ...ofRuns.flat()];
  };
  return {
    async set({ tenant, threadId }, from = '', change) {
      const answer = await scripts.call<SetAnswer>(lua['set-files'], {
        tenant,
        threadId,
        from,
        files: { ...change, event: jsonOf(change) },
      });
      if (answer.outcome !== 'set') throw refusalOf(answer, threadId);
    },
    async *live(tenant) {
      // All ids at once: threads move within the list, so pages of it could pass one over.
      const threadIds = await reached(redis.zrevrange(keys.of('ths', tenant), 0, -1));
      for (let from = 0; from < threadIds.length; from += together) {
        const page = threadIds.slice(from, from + together);
        for (const versions of await Promise.all(page.map(versionsOf)))
          for (const version of versions) if (version) yield version;
      }
    },
    async tenants() {
      return reached(redis.zrevrange(keys.one('trim'), 0, -1));
    },
    async installationId() {
      await reached(redis.setnx(keys.one('filesid'), crypto.randomUUID()));
      return (await reached(redis.get(keys.one('filesid')))) ?? '';
    },
  };
}

interface SetAnswer {
  outcome: 'set' | 'not_found' | 'in_progress' | 'changed';
  runId?: string;
  version?: string;
}

function refusalOf({ outcome, runId, version }: SetAnswer, threadId: string): AppError {
  if (outcome === 'in_progress') {
    const message =
      'A run is in progress on this thread and works with its files. Change them when it has ended.';
    return new AppError('run_in_progress', message, { details: { runId } });
  }
  if (outcome === 'changed') {
    const message =
      'The files of this thread have changed meanwhile. Read them again, then repeat the change.';
    return new AppError('precondition_failed', message, { details: { version: version ?? null } });
  }
  return threadNotFound(threadId);
}
