import type { Hold } from '@harness/dispatch';
import type { Session } from './session.ts';

/**
 * All state of this worker about one thread. A conversation of a plugin (see invoker.ts) also has a slot,
 * with only a session, under its own key.
 */
export interface ThreadSlot {
  /** The running turn. */
  turn: TurnUnderWay | undefined;
  /** Set while this worker holds the thread. */
  held: HeldSlot | undefined;
  /** Its session in the pool. */
  pooled: PooledSession | undefined;
}

/** A running turn, and what arrived for its thread meanwhile. */
export interface TurnUnderWay {
  stop: AbortController;
  runId: string | undefined;
  /** A doorbell rang meanwhile, or mail is left: there is more to do after this turn. */
  isRung: boolean;
}

/** The hold of a thread, and the state of its session under it. */
export interface HeldSlot {
  hold: Hold;
  /** Counter of the latest event under this epoch. */
  counter: number;
  /** The process started under this epoch; the next process needs a higher one. */
  session: Session | undefined;
  /** When the session's token was signed, ms on the monotonic clock. */
  tokenAt: number;
  /** The `runTools` under which the session listed its tools; null = unknown. */
  listedFor: string | undefined | null;
}

/** A session of the pool. */
export interface PooledSession {
  session: Session;
  /** The session's profile, as JSON. */
  profile: string;
  busy: boolean;
  guest: boolean;
  timer: NodeJS.Timeout | undefined;
  /** Number of the latest use in this process; the lowest is the least recently used. */
  usedAt: number;
}

/** The slots of a worker, by thread id or by a guest's key. */
export interface ThreadSlots {
  get(key: string): Readonly<ThreadSlot> | undefined;
  /** Sets some of a slot's fields. A slot with no field left is removed. */
  update(key: string, change: Partial<ThreadSlot>): void;
  /** Keys and values of one field, of the slots that have it. */
  with<Field extends keyof ThreadSlot>(field: Field): [key: string, value: NonNullable<ThreadSlot[Field]>][];
}

const empty: ThreadSlot = { turn: undefined, held: undefined, pooled: undefined };

/** Creates the slots that pool, lending and worker share. */
export function createThreadSlots(): ThreadSlots {
  const slots = new Map<string, ThreadSlot>();
  return {
    get: (key) => slots.get(key),
    update(key, change) {
      const slot = { ...(slots.get(key) ?? empty), ...change };
      if (slot.turn || slot.held || slot.pooled) slots.set(key, slot);
      else slots.delete(key);
    },
    with: <Field extends keyof ThreadSlot>(field: Field) =>
      [...slots].flatMap(([key, slot]): [string, NonNullable<ThreadSlot[Field]>][] => {
        const value = slot[field];
        return value ? [[key, value as NonNullable<ThreadSlot[Field]>]] : [];
      }),
  };
}
