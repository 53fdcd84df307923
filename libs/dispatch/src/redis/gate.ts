/**
 * Returns a function that runs at most `limit` jobs at once; further jobs wait in the order of their calls.
 */
export function createGate(limit: number) {
  let free = limit;
  const waiting: (() => void)[] = [];
  return async <T>(job: () => Promise<T>): Promise<T> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await job();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
