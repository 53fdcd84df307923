import { z } from 'zod';
import type { AppError } from './errors.ts';
import { Failure } from './resources.ts';

/**
 * The part that is not ready: Redis, or the gateway or worker itself (it is starting, shutting down, or
 * disconnected).
 */
const Part = z.enum(['redis', 'gateway', 'worker']);

/** The body of `/readyz` of a gateway or a worker. */
export const Readiness = z.object({
  status: z.enum(['ready', 'not ready']),
  missing: z.array(Part).describe('The parts that are not ready'),
  error: Failure.optional().describe(
    'Why it is not ready; `details.redis` is the code with which Redis refuses writes: OOM, MISCONF, READONLY, …',
  ),
});
/** The readiness of a gateway or a worker. */
export type Readiness = z.infer<typeof Readiness>;

/**
 * The body of `/readyz`. `trouble`: undefined = ready (200); otherwise the part that is not ready, and why
 * (503).
 */
export function readinessOf(trouble: { part: z.infer<typeof Part>; error: AppError } | undefined): Readiness {
  if (!trouble) return { status: 'ready', missing: [] };
  return { status: 'not ready', missing: [trouble.part], error: trouble.error.toBody() };
}
