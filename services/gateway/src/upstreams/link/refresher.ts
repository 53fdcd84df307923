/** Quiet time after a change, and the longest wait between two reads of lists that change all the time, ms. */
const firstMs = 250;
const longestMs = 60_000;
/** Lists that did not change for this long are read soon again, ms. */
const calmMs = 60_000;

/**
 * Runs `read`, which must not reject, after changes; at most one at a time. A change during a read causes another one, because the
 * read may have missed it. The wait doubles with every change that follows soon after a read, so that a list that changes every
 * second costs one read a minute.
 */
export function createRefresher(read: () => Promise<void>): { changed(): void; close(): void } {
  let timer: NodeJS.Timeout | undefined;
  let waitMs = firstMs;
  let readAt = Number.NEGATIVE_INFINITY;
  let isReading = false;
  let isStale = false;
  let isClosed = false;
  const run = async () => {
    timer = undefined;
    isReading = true;
    isStale = false;
    await read();
    isReading = false;
    readAt = performance.now();
    if (isStale) changed();
  };
  const changed = () => {
    if (isReading) isStale = true;
    if (timer || isReading || isClosed) return;
    const isCalm = performance.now() - readAt > calmMs;
    waitMs = isCalm ? firstMs : Math.min(longestMs, waitMs * 2);
    timer = setTimeout(() => void run(), waitMs).unref();
  };
  return {
    changed,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
