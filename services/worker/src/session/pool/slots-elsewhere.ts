import type { Workers } from '@harness/dispatch';

/** How long the result is cached, ms. */
const cachedMs = 1_000;

/**
 * Creates the check whether another worker has a free slot, by the workers' latest reports. Only then is a
 * thread passed on instead of ending an idle session for it.
 */
export function createSlotsElsewhere(deps: {
  workers: Pick<Workers, 'list'>;
  workerId: string;
}): () => Promise<boolean> {
  let answer: Promise<boolean> | undefined;
  let at = Number.NEGATIVE_INFINITY;
  const look = async () => {
    const workers = await deps.workers.list();
    return workers.some(
      ({ workerId, draining, maxSessions, sessions }) =>
        workerId !== deps.workerId && !draining && sessions < maxSessions,
    );
  };
  return () => {
    if (performance.now() - at > cachedMs) {
      at = performance.now();
      answer = look();
    }
    return answer as Promise<boolean>;
  };
}
