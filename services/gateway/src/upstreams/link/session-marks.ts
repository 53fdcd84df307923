import type { PluginStore } from '@harness/dispatch';

/** Which threads have, or had, a session of their own at an upstream: it outlives the gateway that has the sessions. */
export interface SessionMarks {
  has(thread: string): Promise<boolean>;
  /** Resolves when the mark is stored. Rejects with `unavailable`. */
  set(thread: string): Promise<void>;
  delete(thread: string): Promise<void>;
}

/** Marks of one upstream; beyond, and after this time, the loss of a session is not reported. */
const maxMarks = 1_000;
const keptMs = 7 * 24 * 3_600_000;

/** Opens the marks of an upstream, which only the owner of its connections writes. They are read once. */
export function openSessionMarks(store: Pick<PluginStore, 'get' | 'set'>, upstream: string): SessionMarks {
  let reading: Promise<Map<string, number>> | undefined;
  const read = () => {
    reading ??= store.get(upstream).then(
      (stored) => new Map(Array.isArray(stored) ? (stored as [string, number][]) : []),
      (error) => {
        reading = undefined; // the next call tries again
        throw error;
      },
    );
    return reading;
  };
  const write = (marks: Map<string, number>) => {
    const since = Date.now() - keptMs;
    for (const [at, [thread, setAt]] of [...marks].entries())
      if (setAt < since || at < marks.size - maxMarks) marks.delete(thread);
    return store.set(upstream, [...marks]);
  };
  return {
    has: async (thread) => (await read()).has(thread),
    async set(thread) {
      const marks = await read();
      marks.delete(thread);
      marks.set(thread, Date.now());
      await write(marks);
    },
    async delete(thread) {
      const marks = await read();
      if (marks.delete(thread)) await write(marks);
    },
  };
}
