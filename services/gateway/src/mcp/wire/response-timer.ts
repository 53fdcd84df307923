/** One timer for all undecided responses: nearly all end long before the limit. */
export interface ResponseTimer {
  /** Calls `onOver` once the limit has passed, unless `end` is called before. */
  begin(onOver: () => void): void;
  end(onOver: () => void): void;
  close(): void;
}

/** `patienceMs`: the limit; checked five times within it, so up to a fifth late. */
export function createResponseTimer(patienceMs: number): ResponseTimer {
  const waiting = new Map<() => void, number>();
  const clock = setInterval(() => {
    const now = performance.now();
    for (const [onOver, at] of waiting) {
      if (at > now) return; // in order of their deadlines
      onOver();
    }
  }, patienceMs / 5);
  clock.unref();
  return {
    begin: (onOver) => void waiting.set(onOver, performance.now() + patienceMs),
    end: (onOver) => void waiting.delete(onOver),
    close: () => clearInterval(clock),
  };
}
