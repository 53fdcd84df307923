/**
 * One reader of a log for all who subscribe to it at this process, so that what happens is read once and handed out to
 * all as the same batch.
 *
 * A subscriber is *behind* (it reads the log itself, from its own cursor), then *live* (the reader pushes), *behind*
 * again when it has taken too much, at last *gone*. The joint (D7): who is behind goes live in one step without waiting,
 * and only when a read of its own has found all that the reader has handed out so far. What that read found beyond, the
 * reader will still hand out: it is left out for this one.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ThreadEvent } from '@harness/contracts';
import type { Listener } from '../redis/feed.ts';

export interface Subscriber {
  /**
   * Takes events, at least one; all of them are stored, or none. They are shared: not to be changed. A promise says that
   * it has enough: it gets nothing until that resolves, and then everything since.
   */
  take(events: readonly ThreadEvent[]): Promise<unknown> | undefined;
  /** Nothing more will come: the log could not be read, or (without an error) it is gone with its thread. */
  end(error?: unknown): void;
}

export interface Page {
  /** In order, each of a bounded size; ids are never null. */
  batches: ThreadEvent[][];
  /** There may be more. */
  full: boolean;
}

/** The log of a thread or a tree. */
export interface Log {
  /** `start` as XRANGE takes it. */
  page(start: string): Promise<Page>;
  newestId(): Promise<string | undefined>;
  listen(signal: AbortSignal): Promise<Listener>;
  /** The event of a message that is not stored. */
  liveEventOf(message: string): ThreadEvent;
  /** Tells one subscriber that its replay is over. */
  replayed(): ThreadEvent;
}

export interface LogReader {
  /** Resolves when it is among the subscribers; the first events come later. The function takes it out again. */
  join(subscriber: Subscriber, start: string): Promise<() => void>;
}

/** Live deltas kept for one who is behind; beyond, they are dropped: the stored message follows anyway. */
const maxHeld = 1000;
const beforeAll = '0-0';

interface Seat {
  subscriber: Subscriber;
  state: 'behind' | 'live' | 'gone';
  /** Where its next own read starts. */
  start: string;
  /** Behind: the last event it was given or knows to be none of its own. Live: set while that is beyond the reader. */
  seen: string | undefined;
  replayed: boolean;
  held: ThreadEvent[] | undefined;
}

/** `onEmpty`: the last subscriber has left and the reader ended; it cannot be joined again. */
export function createLogReader(log: Log, onEmpty: () => void): LogReader {
  const seats = new Set<Seat>();
  const over = new AbortController();
  /** Everything up to this event has been handed out to those who are live. */
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
      end(seat, error); // one subscriber's fault is not the others'
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
      // The read began after `handedOut` was: it found all up to there, whether or not any of it was still kept.
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
        await nextTurn(); // a thousand writes take a while: let the sockets have their turn
      }
      full = page.full;
    }
    // A log is never empty while its thread is there.
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
    // Listening starts before reading, so that nothing falls between the two.
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

/** Its state changes while others are waited for, or in what they call: the compiler cannot know. */
const isGone = (seat: Seat): boolean => seat.state === 'gone';

function hold(seat: Seat, events: ThreadEvent[]): void {
  seat.held ??= [];
  if (seat.held.length < maxHeld) seat.held.push(...events);
}

const partsOf = (id: string) => id.split('-').map(Number) as [number, number?];

export function isBefore(a: string, b: string): boolean {
  const [aMs, aN = 0] = partsOf(a);
  const [bMs, bN = 0] = partsOf(b);
  return aMs < bMs || (aMs === bMs && aN < bN);
}
