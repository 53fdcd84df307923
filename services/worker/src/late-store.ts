import type { TranscriptEntry, TranscriptStore } from '@harness/dispatch';

export interface LateStore {
  store: TranscriptStore;
  /** Where entries go from now on; those that came before go there first. */
  bind(target: TranscriptStore): void;
}

/** A transcript store for a session that belongs to no thread yet: entries wait until it does. */
export function createLateStore(initial?: TranscriptStore): LateStore {
  let target = initial;
  let waiting: { key: { sessionId: string }; entries: TranscriptEntry[] }[] = [];
  let flushing: Promise<void> = Promise.resolve();
  return {
    bind(bound) {
      target = bound;
      const early = waiting;
      waiting = [];
      flushing = (async () => {
        for (const { key, entries } of early) await bound.append(key, entries);
      })();
      flushing.catch(() => undefined); // seen by the next append
    },
    store: {
      async append(key, entries) {
        if (!target) return void waiting.push({ key, entries });
        await flushing;
        await target.append(key, entries);
      },
      load: async (key) => target?.load(key) ?? null,
      listSessions: async () => target?.listSessions() ?? [],
      listSubkeys: async (key) => target?.listSubkeys(key) ?? [],
      delete: async (key) => target?.delete(key),
    },
  };
}
