/**
 * The pool of warm sessions, by key. The key of a thread's session is the thread id alone. Its profile
 * (model, tools, …) is compared on a hit; if it differs, the session is replaced.
 *
 * An entry is busy (lent) or idle. Idle ones are evicted after the idle TTL, and when there are too many:
 * guests first, then the least recently used. Busy ones are never evicted to free a slot.
 *
 * This folder:
 *   session-lending.ts     which session a thread gets, and its epoch
 *   spares.ts              sessions started in advance
 *   session-limit.ts       how many sessions fit into memory
 *   slots-elsewhere.ts      whether another worker has a free slot
 */
import type { SessionPath } from '@harness/contracts';
import type { Session } from '../session.ts';
import type { SessionProfile } from '../session-options.ts';
import { createThreadSlots, type PooledSession } from '../thread-slots.ts';

/** Limits of a pool. */
export interface PoolOptions {
  /** Read at each use, because the limit falls while memory is short. */
  maxSessions(): number;
  idleTtlMs: number;
  /** Called after the pool itself has evicted an idle session. */
  onEvict(key: string): void;
}

/** A request for a session. */
export interface Wanted {
  key: string;
  profile: SessionProfile;
  /** A guest runs within a turn and uses its slot: it enters even a full pool, which is trimmed later. */
  guest?: boolean;
  /** Starts a session when there is no warm one. */
  open(): Promise<{ session: Session; path: SessionPath }>;
}

/** The pool. */
export interface SessionPool {
  /**
   * Lends the key's session: the warm one if its profile fits, else a new one. Do not call it again for the
   * key before `give`.
   */
  lend(wanted: Wanted): Promise<{ session: Session; path: SessionPath }>;
  /** Returns a session: it is idle from now on, or removed if it has ended. */
  give(key: string): void;
  /** Ends the key's session at once, busy or idle. */
  evict(key: string): void;
  /** Ends every lent session at once. */
  evictBusy(): void;
  has(key: string): boolean;
  counts(): { sessions: number; busy: number; evicted: number };
  /** Ends every session. */
  close(): void;
}

/** Creates the pool; `slots` is shared with the worker's other parts. */
export function createSessionPool(options: PoolOptions, slots = createThreadSlots()): SessionPool {
  const entryOf = (key: string) => slots.get(key)?.pooled;
  const entries = () => slots.with('pooled');
  let uses = 0;

  const end = (key: string) => {
    const entry = entryOf(key);
    if (!entry) return;
    slots.update(key, { pooled: undefined });
    clearTimeout(entry.timer);
    entry.session.kill();
  };
  let evicted = 0;
  /** Sessions that are starting; each will need a slot. */
  let opening = 0;
  const evictIdle = (key: string) => {
    evicted++;
    end(key);
    options.onEvict(key);
  };
  const trim = (needed: number) => {
    const idle = entries().filter(([, { busy }]) => !busy);
    // Guests first; last those that another worker could not resume.
    const rankOf = ({ guest, session }: PooledSession) => (guest ? 0 : session.movable ? 1 : 2);
    const order = idle.toSorted(
      ([, one], [, other]) => rankOf(one) - rankOf(other) || one.usedAt - other.usedAt,
    );
    for (const [key] of order) {
      if (entries().length + opening + needed <= options.maxSessions()) return;
      evictIdle(key);
    }
  };

  return {
    async lend({ key, profile, guest, open }) {
      const wanted = JSON.stringify(profile);
      const entry = entryOf(key);
      if (entry && entry.profile === wanted && !entry.session.ended) {
        clearTimeout(entry.timer);
        entry.busy = true;
        entry.usedAt = ++uses;
        return { session: entry.session, path: 'warm' };
      }
      end(key);
      if (!guest) trim(1);
      opening++;
      const opened = await open().finally(() => {
        opening--;
      });
      const { session } = opened;
      const pooled = { session, profile: wanted, busy: true, guest: guest === true, timer: undefined };
      slots.update(key, { pooled: { ...pooled, usedAt: ++uses } });
      return opened;
    },
    give(key) {
      const entry = entryOf(key);
      if (!entry) return;
      if (entry.session.ended) return end(key);
      entry.busy = false;
      entry.timer = setTimeout(() => evictIdle(key), options.idleTtlMs);
      entry.timer.unref();
      trim(0);
    },
    evict: end,
    evictBusy() {
      for (const [key, { busy }] of entries()) if (busy) end(key);
    },
    has: (key) => entryOf(key) !== undefined,
    counts: () => ({
      sessions: entries().length,
      evicted,
      busy: entries().filter(([, { busy }]) => busy).length,
    }),
    close() {
      for (const [key] of entries()) end(key);
    },
  };
}
