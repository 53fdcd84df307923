/**
 * Warm sessions by key. A thread's session has the thread id as its key and nothing else: what it was made for (model,
 * tools, …) is its profile, compared on a hit, so that a message can never miss a session it should have found.
 *
 * An entry is busy (lent out) or idle. Idle ones end after the idle TTL, and when there are too many, guests first, then
 * the least recently used; a busy one is never touched.
 */
import type { SessionPath } from '@harness/contracts';
import type { Session } from './session.ts';
import type { SessionProfile } from './session-options.ts';
import { createThreadSlots, type PooledSession } from './thread-slots.ts';

export interface PoolOptions {
  /** Asked whenever a session is wanted: memory may have become short. */
  maxSessions(): number;
  idleTtlMs: number;
  /** Called after an idle session was ended by the pool itself. */
  onEvict(key: string): void;
}

export interface Wanted {
  key: string;
  profile: SessionProfile;
  /** A guest uses its host's turn as its slot: it is let in when the pool is full, and the pool trims itself later. */
  guest?: boolean;
  open(): Promise<{ session: Session; path: SessionPath }>;
}

export interface SessionPool {
  /** The key's session, warm if it is there and fits. Wait for `give` before asking for the same key again. */
  lend(wanted: Wanted): Promise<{ session: Session; path: SessionPath }>;
  /** Gives it back: idle from now on, or ended when it did not survive. */
  give(key: string): void;
  /** Ends the key's session, busy or idle, at once. */
  evict(key: string): void;
  /** Ends every session that is lent out, at once. */
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
  /** Sessions that are starting: they will need their place. */
  let opening = 0;
  const evictIdle = (key: string) => {
    evicted++;
    end(key);
    options.onEvict(key);
  };
  const trim = (room: number) => {
    const idle = entries().filter(([, { busy }]) => !busy);
    // A thread's warm session is worth more than a guest's; what another worker could not go on with comes last.
    const rankOf = ({ guest, session }: PooledSession) => (guest ? 0 : session.movable ? 1 : 2);
    const order = idle.toSorted(
      ([, one], [, other]) => rankOf(one) - rankOf(other) || one.usedAt - other.usedAt,
    );
    for (const [key] of order) {
      if (entries().length + opening + room <= options.maxSessions()) return;
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
