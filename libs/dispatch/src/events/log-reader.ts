/**
 * One reader of a log for all its subscribers in this process: new events are read once and passed to all of
 * them as the same batch.
 *
 * A subscriber is *behind* (reads the log itself, from its own cursor), then *live* (the reader passes it
 * events), *behind* again when it is busy, and finally *gone*. D7: a subscriber goes live in one synchronous
 * step, and only once its own read has found everything that the reader has passed on so far. Events that
 * this read found beyond that position are skipped for it when the reader passes them on.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ThreadEvent } from '@harness/contracts';
import type { Listener } from '../redis/feed.ts';

/** Receives the events of one subscription. */
export interface Subscriber {
  /**
   * Takes one or more events; either all are stored or none is. They are shared and must not be changed. If
   * it returns a promise, it gets nothing until that resolves, and then everything since.
   */
  take(events: readonly ThreadEvent[]): Promise<unknown> | undefined;
  /**
   * No more events will come: the log could not be read (`error`), or it was deleted with its thread (no
   * error).
   */
  end(error?: unknown): void;
}

/** Events found by one read. */
export interface Page {
  /** In order; each batch has a bounded size, and ids are never null. */
  batches: ThreadEvent[][];
  /** There may be more events. */
  full: boolean;
}

/** The log that a reader reads: a thread's, a tree's or a bus's. */
export interface Log {
  /** One page from `start`, as XRANGE takes it. */
  page(start: string): Promise<Page>;
  newestId(): Promise<string | undefined>;
  listen(signal: AbortSignal): Promise<Listener>;
  /** The event in a message on the channel: a live delta, which is not stored. */
  liveEventOf(message: string): ThreadEvent;
  /** The event that tells a subscriber that its replay is over. */
  replayed(): ThreadEvent;
}

/** The shared reader of one log. */
export interface LogReader {
  /**
   * Adds a subscriber that reads from `start` (as XRANGE takes it); its first events come later. The returned
   * function removes it. Throws when the log cannot be followed.
   */
  join(subscriber: Subscriber, start: string): Promise<() => void>;
}

/** Live deltas kept for a subscriber that is behind; more are dropped, since the stored message follows. */
const maxHeld = 1000;
const beforeAll = '0-0';

/** A subscriber and its position. */
interface Seat {
  subscriber: Subscriber;
  state: 'behind' | 'live' | 'gone';
  /** Where its next own read starts. */
  start: string;
  /** Behind: the last event that it got or can skip. Live: set while it is ahead of the reader. */
  seen: string | undefined;
  replayed: boolean;
  held: ThreadEvent[] | undefined;
}

/**
 * `onEmpty`: called when the last subscriber has left and the reader has ended; it cannot be joined again.
 */
export function createLogReader(log: Log, onEmpty: () => void): LogReader {
  const seats = new Set<Seat>();
  const over = new AbortController();
  /** Everything up to this event has been passed to the live subscribers. */
  let position = beforeAll;

  const leave = (seat: Seat) => {
    seat.state = 'gone';
    if (!seats.delete(seat) || seats.size > 0) return;
    over.abort();
    onEmpty();
  };
  const end = (seat: Seat, error?: unknown) => {
    if (seat.state === 'gone') return;
    leave(seat);
    seat.subscriber.end(error);
  };

  const endAll = (error?: unknown) => {
    for (const seat of seats) end(seat, error);
  };

  const handOut = (events: ThreadEvent[]) => {
    const newest = events.at(-1)?.id ?? null;
    if (newest !== null) position = newest;
    for (const seat of seats) {
      if (seat.state === 'live') give(seat, events);
      else if (newest === null) hold(seat, events);
    }
  };
  const give = (seat: Seat, events: ThreadEvent[]) => {
    const { seen } = seat;
    const stored = events[0]?.id !== null;
    const due = seen && stored ? events.filter(({ id }) => id && isBefore(seen, id)) : events;
    if (due.length === 0) return;
    if (stored) seat.seen = undefined;
    try {
      const busy = seat.subscriber.take(due);
      if (!busy || isGone(seat)) return;
      seat.state = 'behind';
      seat.seen ??= position;
      seat.start = `(${seat.seen}`;
      busy.then(() => catchUp(seat)).catch((error) => end(seat, error));
    } catch (error) {
      end(seat, error); // a failing subscriber must not affect the others
    }
  };
  const catchUp = async (seat: Seat) => {
    while (!isGone(seat)) {
      const handedOut = position;
      const { batches, full } = await log.page(seat.start);
      for (const events of batches) {
        if (isGone(seat)) return;
        seat.seen = events.at(-1)?.id as string;
        seat.start = `(${seat.seen}`;
        await seat.subscriber.take(events);
      }
      if (full || isGone(seat)) continue;
      if (!seat.replayed) {
        seat.replayed = true;
        await seat.subscriber.take([log.replayed()]);
      }
      for (let event = seat.held?.shift(); event && !isGone(seat); event = seat.held?.shift()) {
        await seat.subscriber.take([event]);
      }
      // The read began after `handedOut` was reached, so it has found everything up to there that is still
      // kept.
      if (isBefore(seat.seen ?? beforeAll, handedOut)) seat.seen = handedOut;
      if (isGone(seat) || isBefore(seat.seen ?? beforeAll, position)) continue;
      seat.state = 'live';
      seat.held = undefined;
      if (seat.seen === position) seat.seen = undefined;
      return;
    }
  };

  const readOn = async () => {
    let found = false;
    for (let full = true; full && seats.size > 0; ) {
      const page = await log.page(`(${position}`);
      found ||= page.batches.length > 0;
      for (const events of page.batches) {
        handOut(events);
        await nextTurn(); // let sockets be served between batches
      }
      full = page.full;
    }
    // A log is empty only after its thread was deleted.
    if (!found && position !== beforeAll && (await log.newestId()) === undefined) endAll();
  };
  const read = async (listener: Listener) => {
    for await (const message of listener) {
      if (message === '') await readOn();
      else handOut([log.liveEventOf(message)]);
      await nextTurn();
    }
  };
  const open = async () => {
    // Listen before reading, so that no event falls between the two.
    const listener = await log.listen(over.signal);
    position = (await log.newestId()) ?? beforeAll;
    read(listener).catch(endAll);
  };
  const opened = open();

  return {
    async join(subscriber, start) {
      const seat: Seat = {
        subscriber,
        state: 'behind',
        start,
        seen: start.startsWith('(') ? start.slice(1) : undefined,
        replayed: false,
        held: undefined,
      };
      seats.add(seat);
      try {
        await opened;
      } catch (error) {
        leave(seat);
        throw error;
      }
      catchUp(seat).catch((error) => end(seat, error));
      return () => leave(seat);
    },
  };
}

/** A function, because the state changes during awaits and callbacks, which the compiler cannot see. */
const isGone = (seat: Seat): boolean => seat.state === 'gone';

function hold(seat: Seat, events: ThreadEvent[]): void {
  seat.held ??= [];
  if (seat.held.length < maxHeld) seat.held.push(...events);
}

const partsOf = (id: string) => id.split('-').map(Number) as [number, number?];

/** Whether event id `a` is before `b`; an id is `<ms>-<n>` or `<ms>`. */
export function isBefore(a: string, b: string): boolean {
  const [aMs, aN = 0] = partsOf(a);
  const [bMs, bN = 0] = partsOf(b);
  return aMs < bMs || (aMs === bMs && aN < bN);
}
