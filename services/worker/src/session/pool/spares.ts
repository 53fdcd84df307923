/**
 * Spares: sessions of the default profile, started in advance. A new thread takes one instead of starting a
 * session.
 *
 * Their number is fixed or, with `auto`, one plus the most new threads that arrived recently within the
 * duration of one start. It is limited by the available memory; superfluous spares are ended.
 */
import type { Logger } from '@harness/runtime';
import type { Opened } from '../open-session.ts';

/** The stock of spares. */
export interface Spares {
  /** Takes a spare, which is replaced; undefined if there is none. */
  take(): Opened | undefined;
  count(): number;
  close(): void;
}

/** What the stock needs. */
export interface SparesOptions {
  wanted: number | 'auto';
  open(): Promise<Opened>;
  /** How many processes the available memory still allows. */
  processesLeft(): number;
  logger: Logger;
  /** Monotonic clock, ms; replaced by tests. */
  now?: () => number;
}

/** Pause after a failed start, or a spare that died early, ms. */
const retryMs = 5_000;
/** A spare that lived for a shorter time died early, ms. */
const soonMs = 10_000;
/** With `auto`, new threads of this period determine the number of spares, ms. */
const memoryMs = 30_000;
/** How often the stock is adjusted, ms. */
const reviewMs = 5_000;
/** Concurrent starts of spares: a start is CPU-bound, and waiting threads have priority. */
const startsAtOnce = 2;
/** Assumed duration of a start until the first one was measured, ms. */
const guessedStartMs = 1_000;

/** Creates the stock and starts to fill it. */
export function createSpares(options: SparesOptions): Spares {
  const { now = () => performance.now(), logger } = options;
  const stock: { opened: Opened; since: number }[] = [];
  let starting = 0;
  let startMs = guessedStartMs;
  let arrivals: number[] = [];
  let pausedUntil = 0;
  let closed = false;

  const target = () => (options.wanted === 'auto' ? 1 + mostWithin(arrivals, startMs) : options.wanted);
  const missing = () => Math.min(target() - stock.length - starting, options.processesLeft() - starting);

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
  /** Ignores a spare that was taken. */
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

/** The largest number of these times (ascending) that lie within any span of `spanMs`. */
export function mostWithin(times: readonly number[], spanMs: number): number {
  let most = 0;
  let first = 0;
  times.forEach((time, last) => {
    while (time - (times[first] ?? time) > spanMs) first++;
    most = Math.max(most, last - first + 1);
  });
  return most;
}
