/** One clock for all answers that are not decided yet: most are given long before their time. */
export interface Patience {
  begin(onOver: () => void): void;
  end(onOver: () => void): void;
  close(): void;
}

/** `patienceMs` is how long an answer may stay undecided. */
export function createPatience(patienceMs: number): Patience {
  const waiting = new Map<() => void, number>();
  const clock = setInterval(() => {
    const now = performance.now();
    for (const [onOver, at] of waiting) {
      if (at > now) return; // in the order of their coming
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
