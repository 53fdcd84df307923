/**
 * One reader of a log for all its subscribers in this process: new events are read once and passed to all of
 * them as the same batch.
 *
 * A subscriber is *behind* (reads the log itself, from its own cursor), then *live* (the reader passes it
 * events), *behind* again when it is busy, and finally *ended*. D7: a subscriber goes live in one synchronous
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
  /** The event that marks the end of a subscriber's replay. */
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

const beforeAll = '0-0';

/**
 * `onEmpty`: called when the last subscriber has left and the reader has ended; it cannot be joined again.
 */
export function createLogReader(log: Log, onEmpty: () => void): LogReader {
  const subscriptions = new Set<Subscription>();
  const over = new AbortController();
  /** Everything up to this event has been passed to the live subscribers. */
  let position = beforeAll;

  const onLeave = (subscription: Subscription) => {
    if (!subscriptions.delete(subscription) || subscriptions.size > 0) return;
    over.abort();
    onEmpty();
  };
  const endAll = (error?: unknown) => {
    for (const subscription of subscriptions) subscription.end(error);
  };
  const passOn = (events: ThreadEvent[]) => {
    const newest = events.at(-1)?.id ?? null;
    if (newest !== null) position = newest;
    for (const subscription of subscriptions) subscription.pass(events);
  };

  /** Reads the new events, and passes them on. */
  const readOn = async () => {
    let found = false;
    for (let full = true; full && subscriptions.size > 0; ) {
      const page = await log.page(`(${position}`);
      found ||= page.batches.length > 0;
      for (const events of page.batches) {
        passOn(events);
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
      else passOn([log.liveEventOf(message)]);
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
      const subscription = createSubscription(subscriber, start, { log, position: () => position, onLeave });
      subscriptions.add(subscription);
      try {
        await opened;
      } catch (error) {
        subscription.leave();
        throw error;
      }
      subscription.begin();
      return subscription.leave;
    },
  };
}

/** Live deltas kept for a subscriber that is behind; more are dropped, since the stored message follows. */
const maxHeld = 1000;

/** One subscriber, in one of the states that the head of this file describes. */
interface Subscription {
  /** Starts its own reads. */
  begin(): void;
  /** Takes events of the reader, unless it reads the log itself. */
  pass(events: ThreadEvent[]): void;
  /** Ends the subscription. */
  leave(): void;
  /** Ends the subscription, and notifies its subscriber. */
  end(error?: unknown): void;
}

function createSubscription(
  subscriber: Subscriber,
  start: string,
  reader: {
    log: Log;
    /** Everything up to this event has been passed to the live subscribers. */
    position(): string;
    onLeave(subscription: Subscription): void;
  },
): Subscription {
  const { log, position } = reader;
  let state: 'behind' | 'live' | 'ended' = 'behind';
  /** Where its next own read starts. */
  let next = start;
  /** Behind: the last event that it got or can skip. Live: set while it is ahead of the reader. */
  let seen = start.startsWith('(') ? start.slice(1) : undefined;
  let replayed = false;
  let held: ThreadEvent[] = [];
  /** A function, because the state changes during awaits and callbacks, which the compiler cannot see. */
  const isEnded = (): boolean => state === 'ended';

  const catchUp = async () => {
    while (!isEnded()) {
      const passed = position();
      const { batches, full } = await log.page(next);
      for (const events of batches) {
        if (isEnded()) return;
        seen = events.at(-1)?.id as string;
        next = `(${seen}`;
        await subscriber.take(events);
      }
      if (full || isEnded()) continue;
      if (!replayed) {
        replayed = true;
        await subscriber.take([log.replayed()]);
      }
      for (let event = held.shift(); event && !isEnded(); event = held.shift())
        await subscriber.take([event]);
      // The read began after `passed` was reached, so it has found everything up to there that is still kept.
      if (isBefore(seen ?? beforeAll, passed)) seen = passed;
      if (isEnded() || isBefore(seen ?? beforeAll, position())) continue;
      state = 'live';
      held = [];
      if (seen === position()) seen = undefined;
      return;
    }
  };
  const begin = () => void catchUp().catch(subscription.end);

  /** Passes events to the live subscriber; a busy one falls behind. */
  const give = (events: ThreadEvent[], stored: boolean) => {
    const ahead = seen;
    const due = ahead && stored ? events.filter(({ id }) => id && isBefore(ahead, id)) : events;
    if (due.length === 0) return;
    if (stored) seen = undefined;
    try {
      const busy = subscriber.take(due);
      if (!busy || isEnded()) return;
      state = 'behind';
      seen ??= position();
      next = `(${seen}`;
      busy.then(begin, subscription.end);
    } catch (error) {
      subscription.end(error); // a failing subscriber must not affect the others
    }
  };

  const subscription: Subscription = {
    begin,
    pass(events) {
      const stored = events.at(-1)?.id !== null;
      if (state === 'live') give(events, stored);
      else if (!stored && held.length < maxHeld) held.push(...events);
    },
    leave() {
      state = 'ended';
      reader.onLeave(subscription);
    },
    end(error) {
      if (isEnded()) return;
      subscription.leave();
      subscriber.end(error);
    },
  };
  return subscription;
}

const partsOf = (id: string) => id.split('-').map(Number) as [number, number?];

/** Whether event id `a` is before `b`; an id is `<ms>-<n>` or `<ms>`. */
export function isBefore(a: string, b: string): boolean {
  const [aMs, aN = 0] = partsOf(a);
  const [bMs, bN = 0] = partsOf(b);
  return aMs < bMs || (aMs === bMs && aN < bN);
}
