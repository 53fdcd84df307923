import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RouteDeps } from '../deps.ts';
import { jsonSchemaOf } from '../schemas.ts';

const alive = jsonSchemaOf(z.object({ status: z.literal('ok') }));
const readiness = jsonSchemaOf(
  z.object({
    status: z.enum(['ready', 'not ready']),
    missing: z.array(z.literal('redis')).describe('What does not answer'),
  }),
);

/** Public: no key, no secret; Host and Origin rules hold as everywhere. */
export function addHealthRoutes(app: FastifyInstance, { dispatch }: RouteDeps): void {
  const config = { public: true };
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
  app.get(
    '/readyz',
    {
      config,
      schema: {
        tags: ['health'],
        operationId: 'getReadiness',
        summary: 'The parts it needs answer',
        response: { 200: readiness, 503: readiness },
      },
    },
    async (_request, reply) => {
      const missing = await dispatch.ping().then(
        () => [],
        () => ['redis'],
      );
      if (missing.length > 0) reply.code(503).header('Retry-After', '1');
      return { status: missing.length === 0 ? 'ready' : 'not ready', missing };
    },
  );
}
