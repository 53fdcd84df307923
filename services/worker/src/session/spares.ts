/**
 * Sessions of the default profile that were started for no thread yet. A new thread takes one in place of a start of its
 * own.
 *
 * How many: a fixed number, or (`auto`) one, and as many more as new threads came in the time that it takes to start one.
 * Never more than the memory allows; those that are too many for a while are ended.
 */
import type { Logger } from '@harness/runtime';
import type { Opened } from './open-session.ts';

export interface Spares {
  /** A started session that belongs to no thread yet; another is started in its place. Undefined: there is none. */
  take(): Opened | undefined;
  count(): number;
  close(): void;
}

export interface SparesOptions {
  wanted: number | 'auto';
  open(): Promise<Opened>;
  /** Processes that could be started now without need of more memory. */
  room(): number;
  logger: Logger;
  /** For tests; ms on the monotonic clock. */
  now?: () => number;
}

/** After a failed start, or a spare that died soon, the next try comes this much later, ms. */
const retryMs = 5_000;
/** A spare that lived for less died of its start, ms. */
const soonMs = 10_000;
/** New threads of this time say how many spares are wanted, ms. */
const memoryMs = 30_000;
/** How often the stock is looked at, ms. */
const reviewMs = 5_000;
/** Starts at once: a start is CPU-bound, and threads that wait come first. */
const startsAtOnce = 2;
/** Before the first start was measured, ms. */
const guessedStartMs = 1_000;

export function createSpares(options: SparesOptions): Spares {
  const { now = () => performance.now(), logger } = options;
  const stock: { opened: Opened; since: number }[] = [];
  let starting = 0;
  let startMs = guessedStartMs;
  let arrivals: number[] = [];
  let pausedUntil = 0;
  let closed = false;

  const target = () => (options.wanted === 'auto' ? 1 + mostWithin(arrivals, startMs) : options.wanted);
  const missing = () => Math.min(target() - stock.length - starting, options.room() - starting);

  const start = async () => {
    starting++;
    const startedAt = now();
    try {
      const opened = await options.open();
      startMs = (startMs + now() - startedAt) / 2;
      if (closed) return opened.session.kill();
      const spare = { opened, since: now() };
      stock.push(spare);
      void opened.session.exited.then(() => died(spare));
    } catch (error) {
      logger.warn({ err: error }, 'spare session not started');
      pausedUntil = now() + retryMs;
    } finally {
      starting--;
      fill();
    }
  };
  const fill = () => {
    if (closed || now() < pausedUntil) return;
    while (starting < startsAtOnce && missing() > 0) void start();
  };
  /** One that was taken is no longer in stock. */
  const died = (spare: (typeof stock)[number]) => {
    const place = stock.indexOf(spare);
    if (place === -1) return;
    stock.splice(place, 1);
    if (now() - spare.since < soonMs) pausedUntil = now() + retryMs;
    fill();
  };
  const review = () => {
    arrivals = arrivals.filter((at) => at > now() - memoryMs);
    while (stock.length > target()) stock.pop()?.opened.session.kill();
    fill();
  };
  const timer = setInterval(review, reviewMs);
  timer.unref();
  fill();

  return {
    take() {
      arrivals.push(now());
      let spare = stock.shift();
      while (spare?.opened.session.ended) spare = stock.shift();
      fill();
      return spare?.opened;
    },
    count: () => stock.length,
    close() {
      closed = true;
      clearInterval(timer);
      for (const { opened } of stock.splice(0)) opened.session.kill();
    },
  };
}

/** The most of these times, in ascending order, that lie within any span of `spanMs`. */
export function mostWithin(times: readonly number[], spanMs: number): number {
  let most = 0;
  let first = 0;
  times.forEach((time, last) => {
    while (time - (times[first] ?? time) > spanMs) first++;
    most = Math.max(most, last - first + 1);
  });
  return most;
}
