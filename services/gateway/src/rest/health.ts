import { type AppError, Readiness, readinessOf, toAppError } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RouteDeps } from '../deps.ts';
import { jsonSchemaOf } from '../schemas.ts';

const alive = jsonSchemaOf(z.object({ status: z.literal('ok') }));
const readiness = jsonSchemaOf(Readiness);

/** Public: no key, no secret; Host and Origin rules hold as everywhere. */
export function addHealthRoutes(app: FastifyInstance, { dispatch, writes }: RouteDeps): void {
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

  const redisTrouble = async (): Promise<AppError | undefined> =>
    writes.trouble() ?? dispatch.ping().then(() => undefined, toAppError);
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
      const error = await redisTrouble();
      if (error) reply.code(503).header('Retry-After', '1');
      return readinessOf(error && { part: 'redis', error });
    },
  );
}
