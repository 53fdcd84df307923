import { z } from 'zod';
import type { AppError } from './errors.ts';
import { Failure } from './resources.ts';

/** What keeps a process from being ready: Redis, or the gateway or worker itself (it starts, leaves, or is cut off). */
const Part = z.enum(['redis', 'gateway', 'worker']);

/** The body of `/readyz` of a gateway or a worker. */
export const Readiness = z.object({
  status: z.enum(['ready', 'not ready']),
  missing: z.array(Part).describe('The parts that are not ready'),
  error: Failure.optional().describe(
    'Why it is not ready; `details.redis` is the code with which Redis refuses writes: OOM, MISCONF, READONLY, …',
  ),
});
export type Readiness = z.infer<typeof Readiness>;

/** `undefined` = ready (200); otherwise which part is missing, and why (503). */
export function readinessOf(trouble: { part: z.infer<typeof Part>; error: AppError } | undefined): Readiness {
  if (!trouble) return { status: 'ready', missing: [] };
  return { status: 'not ready', missing: [trouble.part], error: trouble.error.toBody() };
}
