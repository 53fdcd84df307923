import { AppError } from '@harness/contracts';

/** Where a worker is in its life. */
export type WorkerPhase = 'starting' | 'working' | 'draining';

/** Why a worker is not ready, and whether it is for Redis or for the worker itself. */
export interface WorkerTrouble {
  part: 'redis' | 'worker';
  error: AppError;
}

export interface WorkerState {
  phase: WorkerPhase;
  /** Why Redis took no write lately; undefined = it did. */
  redis: AppError | undefined;
  /** False once its threads may be another's: its heartbeat has not arrived for most of its TTL. */
  healthy: boolean;
}

/** What `/readyz` says: undefined = ready to take work. */
export function workerTroubleOf({ phase, redis, healthy }: WorkerState): WorkerTrouble | undefined {
  const own = (message: string) => ({ part: 'worker' as const, error: new AppError('unavailable', message) });
  if (phase === 'starting') return own('The worker is starting.');
  if (phase === 'draining') return own('The worker is leaving: it ends its turns and takes no new ones.');
  if (redis) return { part: 'redis', error: redis };
  return healthy ? undefined : own('The heartbeat of the worker does not arrive: it has stopped its turns.');
}
