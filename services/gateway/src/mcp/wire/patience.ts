/** Calls functions after one time that is the same for all of them: a single timer, however many wait. */
export interface Patience {
  /** Calls `onDue` after the time; returns the function that prevents it. */
  begin(onDue: () => void): () => void;
}

/** Creates the wait of this time, ms. Its timer does not keep the process alive. */
export function createPatience(ms: number): Patience {
  /** In the order of their ends. */
  const waiting = new Set<{ dueAt: number; onDue: () => void }>();
  let timer: NodeJS.Timeout | undefined;

  const schedule = () => {
    const [next] = waiting;
    timer = next && setTimeout(callDue, next.dueAt - performance.now()).unref();
  };
  const callDue = () => {
    const now = performance.now();
    for (const wait of waiting) {
      if (wait.dueAt > now) break;
      waiting.delete(wait);
      wait.onDue();
    }
    schedule();
  };

  return {
    begin(onDue) {
      const wait = { dueAt: performance.now() + ms, onDue };
      waiting.add(wait);
      if (timer === undefined) schedule();
      return () => void waiting.delete(wait);
    },
  };
}
