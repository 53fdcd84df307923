/**
 * Between the Agent SDK, which gives each transcript entry once and drops what could not be written, and the store in
 * Redis. What could not be written is kept and goes first the next time, so that the store always holds the beginning
 * of the conversation, without a gap; until it has caught up the conversation cannot move.
 */
import { AppError } from '@harness/contracts';
import type { TranscriptEntry, TranscriptState, TranscriptStore } from '@harness/dispatch';

export interface TranscriptWriter {
  /** What the SDK is given. */
  store: TranscriptStore;
  /** A spare becomes a thread's: where entries go from now on; those that came before go there first. */
  bind(target: TranscriptStore): void;
  /** Writes what is missing, and tells how far the store is now. */
  catchUp(): Promise<TranscriptState>;
}

type Key = Parameters<TranscriptStore['append']>[0];

/** More than this does not wait, entries of one transcript. */
const keptLimit = 10_000;

/** Without an `initial` store, entries wait for `bind`. */
export function createTranscriptWriter(initial?: TranscriptStore): TranscriptWriter {
  let target = initial;
  /** Not written yet, by transcript, in order. The SDK repeats a failed call with the same entries. */
  const kept = new Map<string, { key: Key; entries: TranscriptEntry[] }>();
  let writing: Promise<unknown> = Promise.resolve();
  let full = false;

  const write = async (): Promise<void> => {
    if (!target) return;
    for (const [name, { key, entries }] of kept) {
      const batch = entries.slice();
      try {
        await target.append(key, batch);
      } catch (error) {
        const code = error instanceof AppError ? error.code : undefined;
        full ||= code === 'body_too_large';
        if (full || code === 'stale_epoch') kept.clear(); // will never be written
        throw error;
      }
      entries.splice(0, batch.length);
      if (entries.length === 0) kept.delete(name);
    }
  };
  /** One after another: entries must not overtake each other. */
  const writeInTurn = (): Promise<void> => {
    const turn = writing.then(write);
    writing = turn.catch(() => undefined);
    return turn;
  };

  return {
    bind(bound) {
      target = bound;
      void writeInTurn().catch(() => undefined); // seen by the next append
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
        if (full) throw new AppError('body_too_large', 'The transcript is larger than what is kept.');
        mine.entries.push(...fresh);
        kept.set(name, mine);
        await writeInTurn();
      },
      load: async (key) => target?.load(key) ?? null,
      listSessions: async () => target?.listSessions() ?? [],
      listSubkeys: async (key) => target?.listSubkeys(key) ?? [],
      delete: async (key) => target?.delete(key),
    },
  };
}
