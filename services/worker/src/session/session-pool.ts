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

interface Entry {
  session: Session;
  profile: string;
  busy: boolean;
  guest: boolean;
  timer: NodeJS.Timeout | undefined;
}

export function createSessionPool(options: PoolOptions): SessionPool {
  // Insertion order is order of use: the first idle entry is the least recently used.
  const entries = new Map<string, Entry>();

  const end = (key: string) => {
    const entry = entries.get(key);
    if (!entry) return;
    entries.delete(key);
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
    const idle = [...entries].filter(([, { busy }]) => !busy);
    // A thread's warm session is worth more than a guest's; what another worker could not go on with comes last.
    const rankOf = ({ guest, session }: Entry) => (guest ? 0 : session.movable ? 1 : 2);
    const order = idle.toSorted(([, one], [, other]) => rankOf(one) - rankOf(other));
    for (const [key] of order) {
      if (entries.size + opening + room <= options.maxSessions()) return;
      evictIdle(key);
    }
  };

  return {
    async lend({ key, profile, guest, open }) {
      const wanted = JSON.stringify(profile);
      const entry = entries.get(key);
      if (entry && entry.profile === wanted && !entry.session.ended) {
        clearTimeout(entry.timer);
        entry.busy = true;
        entries.delete(key);
        entries.set(key, entry);
        return { session: entry.session, path: 'warm' };
      }
      end(key);
      if (!guest) trim(1);
      opening++;
      const opened = await open().finally(() => {
        opening--;
      });
      const { session } = opened;
      entries.set(key, { session, profile: wanted, busy: true, guest: guest === true, timer: undefined });
      return opened;
    },
    give(key) {
      const entry = entries.get(key);
      if (!entry) return;
      if (entry.session.ended) return end(key);
      entry.busy = false;
      entry.timer = setTimeout(() => evictIdle(key), options.idleTtlMs);
      entry.timer.unref();
      trim(0);
    },
    evict: end,
    evictBusy() {
      for (const [key, { busy }] of [...entries]) if (busy) end(key);
    },
    has: (key) => entries.has(key),
    counts: () => ({
      sessions: entries.size,
      evicted,
      busy: [...entries.values()].filter((entry) => entry.busy).length,
    }),
    close() {
      for (const key of [...entries.keys()]) end(key);
    },
  };
}
