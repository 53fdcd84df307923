import { setImmediate } from 'node:timers/promises';

/**
 * Lines of one upstream in one second that are read, messages or not. A child sends a message a line; an event of a stream has up to
 * four. No server that works sends more.
 */
const maxPerSecond = { stdio: 5_000, http: 20_000 };
/** Unrequested data also counts by its size: so many bytes count as one line, which allows 5 MB a second. */
const bytesPerLine = { stdio: 1_024, http: 256 };
/** Seconds' worth of lines that are read while more are always waiting: a busy gateway reads a flood slower than that. */
const maxBacklogSeconds = 2;
/** How long the messages of one upstream keep the event loop before all others have their turn, ms. */
const turnMs = 5;

/** Counts what one connection reads. */
export interface LineBudget {
  /** Counts lines, and the unrequested bytes in them. Returns false once the limit is exceeded; the connection is closed then. */
  spend(lines: number, unaskedBytes: number): boolean;
  /** All that has arrived is read. */
  idle(): void;
  /** Closes the connection for another reason. */
  exceed(reason: Error): void;
  /** Why the connection was closed; undefined while it is within the limit. */
  readonly exceeded: Error | undefined;
}

/** Creates the budget of one connection. `onExceeded` is called once. */
export function createLineBudget(
  kind: keyof typeof maxPerSecond,
  onExceeded: (reason: Error) => void,
): LineBudget {
  const most = maxPerSecond[kind];
  const mostWaiting = most * maxBacklogSeconds;
  let waiting = 0;
  let exceeded: Error | undefined;
  let [since, count] = [performance.now(), 0];
  const exceed = (reason: Error) => {
    if (exceeded) return;
    exceeded = reason;
    onExceeded(reason);
  };
  return {
    exceed,
    get exceeded() {
      return exceeded;
    },
    spend(given, unaskedBytes) {
      const lines = Math.max(given, unaskedBytes / bytesPerLine[kind]);
      const now = performance.now();
      if (now - since >= 1_000) [since, count] = [now, 0];
      count += lines;
      waiting += lines;
      if (exceeded) return false;
      if (count <= most && waiting <= mostWaiting) return true;
      exceed(
        new Error(
          `it has sent more than ${most} lines a second, ${mostWaiting} without a pause, or 5 MB a second that nobody asked for, and was disconnected`,
        ),
      );
      return false;
    },
    idle() {
      waiting = 0;
    },
  };
}

/** Returns the function that waits, once the turn of its caller is over, until the event loop has served all others. */
export function createTurns(): () => Promise<void> {
  let begunAt = performance.now();
  return async () => {
    if (performance.now() - begunAt < turnMs) return;
    await setImmediate();
    begunAt = performance.now();
  };
}
