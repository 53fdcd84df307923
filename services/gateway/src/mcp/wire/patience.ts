/** Calls functions after a time, unless what they wait for comes before. */
export interface Patience {
  /** Calls `onDue` after the time; returns the function that prevents it. */
  begin(onDue: () => void): () => void;
}

interface Wait {
  isOver: boolean;
  timer: NodeJS.Timeout | undefined;
  onDue: () => void;
}

/**
 * Creates the wait of this time, ms. Most results come in the turn of the event loop in which their wait begins: only the
 * others get a timer.
 */
export function createPatience(ms: number): Patience {
  let begun: Wait[] = [];
  const setTimers = () => {
    const waits = begun;
    begun = [];
    for (const wait of waits) if (!wait.isOver) wait.timer = setTimeout(wait.onDue, ms);
  };
  return {
    begin(onDue) {
      const wait: Wait = { isOver: false, timer: undefined, onDue };
      if (begun.push(wait) === 1) setImmediate(setTimers);
      return () => {
        wait.isOver = true;
        clearTimeout(wait.timer);
      };
    },
  };
}
