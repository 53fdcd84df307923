/** Messages of one upstream in one second that are read; no server that works sends more. */
const maxPerSecond = 5_000;

/** Creates the budget of one connection. `spend` returns false for a message beyond it: a server that floods is cut off. */
export function createMessageBudget(now: () => number = () => performance.now()): () => boolean {
  let since = now();
  let count = 0;
  return () => {
    const at = now();
    if (at - since >= 1_000) [since, count] = [at, 0];
    return ++count <= maxPerSecond;
  };
}
