import { AppError, jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Hold } from '../lease/turn.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['transcript-append'] });

/** One line of a transcript; its `uuid`, if any, makes a repeated append a no-op. */
export interface TranscriptEntry {
  type: string;
  uuid?: string;
  [field: string]: unknown;
}

interface TranscriptKey {
  sessionId: string;
  subpath?: string;
}

/**
 * Transcripts of a thread's sessions, readable by every worker: the Agent SDK's SessionStore. Stored by
 * thread, never by working directory.
 */
export interface TranscriptStore {
  /**
   * Throws `stale_epoch` when the worker no longer owns the thread, `body_too_large` beyond the size limit,
   * `unavailable`.
   */
  append(key: TranscriptKey, entries: TranscriptEntry[]): Promise<void>;
  /** Null when there is no such transcript. */
  load(key: TranscriptKey): Promise<TranscriptEntry[] | null>;
  listSessions(): Promise<{ sessionId: string; mtime: number }[]>;
  /** Subpaths of a session that have a transcript. */
  listSubkeys(key: TranscriptKey): Promise<string[]>;
  /** Deletes one transcript. Not fenced. */
  delete(key: TranscriptKey): Promise<void>;
}

/** Access to the transcripts of all threads. */
export interface Transcripts {
  /** The store for one owner; `hold` is read at each append, since the epoch rises. */
  storeOf(threadId: string, hold: () => Hold): TranscriptStore;
  /** Whether the session has a transcript to resume. */
  has(threadId: string, sessionId: string): Promise<boolean>;
  /** Whether the transcript has a message with this uuid: then it was sent, and must not be sent again. */
  hasMessage(threadId: string, sessionId: string, uuid: string): Promise<boolean>;
}

const nameOf = ({ sessionId, subpath }: TranscriptKey) => (subpath ? `${sessionId}/${subpath}` : sessionId);

/** Every method throws `unavailable` when Redis does not answer. */
export function createTranscripts(deps: { redis: Redis; keys: Keys; scripts: Scripts }): Transcripts {
  const { redis, keys, scripts } = deps;
  const listOf = (threadId: string, name: string) => keys.of('sess', `${threadId}:${name}`);
  const namesOf = (threadId: string) => reached(redis.smembers(keys.of('sess', threadId)));
  return {
    async has(threadId, sessionId) {
      return (await reached(redis.exists(listOf(threadId, sessionId)))) === 1;
    },
    async hasMessage(threadId, sessionId, uuid) {
      return (await reached(redis.sismember(`${listOf(threadId, sessionId)}:uuids`, uuid))) === 1;
    },
    storeOf: (threadId, hold) => ({
      async append(key, entries) {
        const { outcome } = await scripts.call<{ outcome: string }>(lua['transcript-append'], {
          ...hold(),
          name: nameOf(key),
          entries: entries.map((entry) => ({ uuid: entry.uuid, text: jsonOf(entry) })),
        });
        if (outcome === 'fenced')
          throw new AppError(
            'stale_epoch',
            'Another worker owns the thread now; the entries were not stored.',
          );
        if (outcome === 'full')
          throw new AppError(
            'body_too_large',
            'The transcript has reached its size limit; the entries were not stored.',
          );
      },
      async load(key) {
        const lines = await reached(redis.lrange(listOf(threadId, nameOf(key)), 0, -1));
        return lines.length === 0 ? null : lines.map((line) => JSON.parse(line) as TranscriptEntry);
      },
      async listSessions() {
        const names = await namesOf(threadId);
        const updatedAt = Number(await reached(redis.hget(keys.of('th', threadId), 'updatedAt')));
        return names
          .filter((name) => !name.includes('/'))
          .map((sessionId) => ({ sessionId, mtime: updatedAt }));
      },
      async listSubkeys({ sessionId }) {
        const prefix = `${sessionId}/`;
        return (await namesOf(threadId))
          .filter((name) => name.startsWith(prefix))
          .map((name) => name.slice(prefix.length));
      },
      async delete(key) {
        const list = listOf(threadId, nameOf(key));
        await reached(redis.del(list, `${list}:uuids`));
        await reached(redis.srem(keys.of('sess', threadId), nameOf(key)));
      },
    }),
  };
}
