/** Runs a bounded number of jobs at once. */
export interface Gate {
  /** Runs the job when fewer than `limit` run. Jobs wait in the order of their calls; one with `first` waits before all others. */
  <T>(job: () => Promise<T>, options?: { first: boolean }): Promise<T>;
  /** Whether jobs wait. */
  isWaiting(): boolean;
}

/** Creates a gate for at most `limit` jobs at once. */
export function createGate(limit: number): Gate {
  let free = limit;
  const waiting: (() => void)[] = [];
  const gate = async <T>(job: () => Promise<T>, { first } = { first: false }): Promise<T> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => (first ? waiting.unshift(resolve) : waiting.push(resolve)));
    try {
      return await job();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
  return Object.assign(gate, { isWaiting: () => waiting.length > 0 });
}
