import { AppError, Readiness, readinessOf, toAppError } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RouteDeps } from '../../app-deps.ts';
import { jsonSchemaOf } from '../../openapi/schemas.ts';

const alive = jsonSchemaOf(z.object({ status: z.literal('ok') }));
type Trouble = Parameters<typeof readinessOf>[0];
const readiness = jsonSchemaOf(Readiness);

/** Public: no key, no secret; Host and Origin rules hold as everywhere. */
export function addHealthRoutes(app: FastifyInstance, { dispatch, writes, leaving }: RouteDeps): void {
  const config = { public: true, probe: true };
  app.get(
    '/healthz',
    {
      config,
      schema: {
        tags: ['health'],
        operationId: 'getHealth',
        summary: 'The process answers',
        response: { 200: alive },
      },
    },
    async () => ({
      status: 'ok',
    }),
  );

  const troubleNow = async (): Promise<Trouble> => {
    if (leaving?.aborted)
      return { part: 'gateway', error: new AppError('unavailable', 'The gateway is leaving.') };
    const found = writes.trouble();
    // That Redis did not answer may have been a gateway without CPU: it is asked again. A refusal is a fact.
    const error = found?.details ? found : await dispatch.ping().then(() => undefined, toAppError);
    return error && { part: 'redis', error };
  };
  app.get(
    '/readyz',
    {
      config,
      schema: {
        tags: ['health'],
        operationId: 'getReadiness',
        summary: 'The parts it needs answer, and Redis takes writes',
        response: { 200: readiness, 503: readiness },
      },
    },
    async (_request, reply) => {
      const trouble = await troubleNow();
      if (trouble) reply.code(503).header('Retry-After', '1');
      return readinessOf(trouble);
    },
  );
}
