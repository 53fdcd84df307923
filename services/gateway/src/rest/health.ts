import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../deps.ts';

/** Public: no key, no secret; Host and Origin rules hold as everywhere. */
export function addHealthRoutes(app: FastifyInstance, { dispatch }: RouteDeps): void {
  const config = { public: true };
  app.get(
    '/healthz',
    {
      config,
      schema: { tags: ['health'], summary: 'The process answers', response: { 200: { type: 'object' } } },
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
        summary: 'The parts it needs answer',
        response: { 200: { type: 'object' }, 503: { type: 'object' } },
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
