import type { Hold, Lease } from '@harness/dispatch';
import type { SessionPool } from './pool/session-pool.ts';
import type { HeldSlot, ThreadSlots } from './thread-slots.ts';

/** The threads that this worker holds, and the ways in which it stops to hold one. */
export interface ThreadHolds {
  /**
   * Records the hold of a claimed thread, and returns its slot. If its epoch has changed, another worker had
   * the thread: the old session ends.
   */
  keep(hold: Hold): HeldSlot;
  get(threadId: string): Hold | undefined;
  list(): Hold[];
  /** Returns the next event counter of the thread's epoch. */
  nextCounter(threadId: string): number;
  /** The session's tool list is outdated: it lists its tools again before the next run. */
  relist(threadId: string): void;
  /** Releases a thread that has no session here; any worker may take its waiting mail. */
  release(threadId: string): Promise<void>;
  /** Ends the thread's session, if there is one, and releases the thread. */
  giveUp(threadId: string): Promise<void>;
  /** Another worker owns the thread: ends its session here and forgets the hold. */
  drop(threadId: string): void;
  /** Forgets the hold; the session stays. */
  forget(threadId: string): void;
  /** Releases every thread; their sessions have ended. */
  releaseAll(): Promise<void>;
}

/** Creates the holds of one worker. `slots` is shared with the pool and the worker. */
export function createThreadHolds(deps: {
  slots: ThreadSlots;
  pool: SessionPool;
  lease: Lease;
}): ThreadHolds {
  const { slots, pool, lease } = deps;
  const slotOf = (threadId: string) => slots.get(threadId)?.held;
  const list = () => slots.with('held').map(([, { hold }]) => hold);
  const forget = (threadId: string) => slots.update(threadId, { held: undefined });
  const release = async (threadId: string) => {
    const hold = slotOf(threadId)?.hold;
    forget(threadId);
    if (hold) await lease.release(hold);
  };
  return {
    keep(hold) {
      const known = slotOf(hold.threadId);
      if (known?.hold.epoch === hold.epoch && known.hold.me === hold.me) return known;
      pool.evict(hold.threadId);
      const fresh: HeldSlot = { hold, counter: 0, session: undefined, tokenAt: 0, listedFor: null };
      slots.update(hold.threadId, { held: fresh });
      return fresh;
    },
    get: (threadId) => slotOf(threadId)?.hold,
    list,
    nextCounter(threadId) {
      const held = slotOf(threadId);
      return held ? ++held.counter : 1;
    },
    relist(threadId) {
      const held = slotOf(threadId);
      if (held) held.listedFor = null;
    },
    release,
    async giveUp(threadId) {
      pool.evict(threadId);
      await release(threadId);
    },
    drop(threadId) {
      pool.evict(threadId);
      forget(threadId);
    },
    forget,
    async releaseAll() {
      await Promise.all(list().map((hold) => lease.release(hold)));
      for (const { threadId } of list()) forget(threadId);
    },
  };
}
