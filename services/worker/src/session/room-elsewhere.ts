import type { Workers } from '@harness/dispatch';

/** What workers said of themselves is believed for this long, ms. */
const believedMs = 1_000;

/**
 * Whether another worker has a free slot, as far as it said lately: only then is a thread worth passing on rather than
 * ending an idle session for it.
 */
export function createRoomElsewhere(deps: {
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
    if (performance.now() - at > believedMs) {
      at = performance.now();
      answer = look();
    }
    return answer as Promise<boolean>;
  };
}
