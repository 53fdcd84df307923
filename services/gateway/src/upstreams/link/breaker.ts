/** Calls in a row that fail before the connection is given up. */
const threshold = 5;

/**
 * Counts the calls that an upstream does not answer. After five in a row it opens: the connection is closed, calls fail at once,
 * and the next attempt to connect is the probe. After a probe that succeeds, it is half open: one failure opens it again, one
 * answer closes it.
 */
export interface Breaker {
  /** An answer of the upstream, if only an error. */
  answered(): void;
  /** Returns true when the connection is to be given up. */
  failed(): boolean;
  readonly state: 'closed' | 'half-open' | 'open';
  /** The connection works again. */
  connected(): void;
}

/** Creates a breaker, closed. */
export function createBreaker(): Breaker {
  let failures = 0;
  let state: Breaker['state'] = 'closed';
  return {
    get state() {
      return state;
    },
    answered() {
      failures = 0;
      state = 'closed';
    },
    failed() {
      failures += 1;
      if (state === 'closed' && failures < threshold) return false;
      state = 'open';
      return true;
    },
    connected() {
      failures = 0;
      if (state === 'open') state = 'half-open';
    },
  };
}
