/** Runs a bounded number of jobs at once. */
export interface Gate {
  /** Runs the job when there is room. Waiting jobs are run in the order of their calls; `first` goes before all others. */
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
