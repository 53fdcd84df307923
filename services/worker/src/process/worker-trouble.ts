import { AppError } from '@harness/contracts';

/** The life cycle of a worker process. */
export type WorkerPhase = 'starting' | 'working' | 'draining';

/** Why a worker is not ready, and whether Redis or the worker itself is the cause. */
export interface WorkerTrouble {
  part: 'redis' | 'worker';
  error: AppError;
}

/** What readiness depends on. */
export interface WorkerState {
  phase: WorkerPhase;
  /** Why the last probe write to Redis failed; undefined = it did not. */
  redis: AppError | undefined;
  /**
   * False when no heartbeat has arrived for most of the liveness TTL, so that other workers may soon take its
   * threads.
   */
  healthy: boolean;
}

/** Why `/readyz` fails; undefined = the worker is ready. */
export function workerTroubleOf({ phase, redis, healthy }: WorkerState): WorkerTrouble | undefined {
  const own = (message: string) => ({ part: 'worker' as const, error: new AppError('unavailable', message) });
  if (phase === 'draining')
    return own('The worker is shutting down: it finishes its turns and takes no new ones.');
  if (redis) return { part: 'redis', error: redis };
  if (phase === 'starting') return own('The worker is starting.');
  return healthy
    ? undefined
    : own('The heartbeat of the worker does not arrive at Redis, so it has stopped its turns.');
}
