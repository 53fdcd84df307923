/**
 * A buffer between the Agent SDK, which drops transcript entries that could not be written, and the store in
 * Redis. Entries that could not be written are kept and written first the next time, so that the store always
 * has a prefix of the conversation without gaps. Until it has caught up, the conversation cannot move to
 * another worker.
 */
import { setTimeout as after } from 'node:timers/promises';
import { AppError, toAppError } from '@harness/contracts';
import type { TranscriptEntry, TranscriptState, TranscriptStore } from '@harness/dispatch';

/** The writer of one session. */
export interface TranscriptWriter {
  /** The store for the SDK. */
  store: TranscriptStore;
  /** Sets the store of a spare that got its thread; the entries kept so far are written first. */
  bind(target: TranscriptStore): void;
  /** Calls the listener when the store falls behind: then the owner calls `catchUp` until it no longer is. */
  notify(listener: () => void): void;
  /** Writes the missing entries; returns the state of the store after that. */
  catchUp(): Promise<TranscriptState>;
}

type Key = Parameters<TranscriptStore['append']>[0];

/** Most entries kept for one transcript; beyond it the transcript is full. */
const keptLimit = 10_000;

/** How long the SDK waits for its entries to be written, ms: until then it does not give its result. */
const patienceMs = 500;

/** Whether the entries are written in time; false: they are kept, and written later. Throws an error that lasts. */
async function isInTime(writing: Promise<void>): Promise<boolean> {
  const waiting = new AbortController();
  const late = after(patienceMs, false, { signal: waiting.signal, ref: false }).catch(() => false);
  try {
    return await Promise.race([writing.then(() => true), late]);
  } catch (error) {
    if (toAppError(error).retry) return false;
    throw error;
  } finally {
    waiting.abort();
  }
}

/** Creates a writer. Without an `initial` store, entries are kept until `bind`. */
export function createTranscriptWriter(initial?: TranscriptStore): TranscriptWriter {
  let target = initial;
  /**
   * Entries not yet written, by transcript, in order. The SDK repeats a failed call with the same entry
   * objects.
   */
  const kept = new Map<string, { key: Key; entries: TranscriptEntry[] }>();
  let writing: Promise<unknown> = Promise.resolve();
  let full = false;
  let isBehind = false;
  let onBehind = () => {};

  const write = async (): Promise<void> => {
    if (!target) return;
    for (const [name, { key, entries }] of kept) {
      const batch = entries.slice();
      try {
        await target.append(key, batch);
      } catch (error) {
        const code = error instanceof AppError ? error.code : undefined;
        full ||= code === 'body_too_large';
        if (full || code === 'stale_epoch') {
          kept.clear(); // will never be written
          isBehind = false;
        }
        throw error;
      }
      entries.splice(0, batch.length);
      if (entries.length === 0) kept.delete(name);
    }
    isBehind = kept.size > 0;
  };
  /** Writes in sequence, so that entries keep their order. */
  const writeInTurn = (): Promise<void> => {
    const turn = writing.then(write);
    writing = turn.catch(() => undefined);
    return turn;
  };

  return {
    notify(listener) {
      onBehind = listener;
    },
    bind(bound) {
      target = bound;
      void writeInTurn().catch(() => undefined); // what is not written now is written with the next append
    },
    async catchUp() {
      await writeInTurn().catch(() => undefined);
      if (full) return 'full';
      return kept.size === 0 ? 'whole' : 'behind';
    },
    store: {
      async append(key, entries) {
        const name = `${key.sessionId}/${key.subpath ?? ''}`;
        const mine = kept.get(name) ?? { key, entries: [] };
        const known = new Set(mine.entries);
        const fresh = entries.filter((entry) => !known.has(entry));
        full ||= mine.entries.length + fresh.length > keptLimit;
        if (full)
          throw new AppError(
            'body_too_large',
            'The transcript has reached its size limit, so no more of it is stored.',
          );
        mine.entries.push(...fresh);
        kept.set(name, mine);
        const writing = isInTime(writeInTurn());
        if (isBehind) return void writing.catch(() => undefined); // the SDK does not wait again
        isBehind = !(await writing);
        if (isBehind) onBehind();
      },
      load: async (key) => target?.load(key) ?? null,
      listSessions: async () => target?.listSessions() ?? [],
      listSubkeys: async (key) => target?.listSubkeys(key) ?? [],
      delete: async (key) => target?.delete(key),
    },
  };
}
