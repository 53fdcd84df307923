/**
 * Routes for operators: health, figures, and what the fleet has.
 *
 * This folder:
 *   metrics.ts   GET /metrics
 *   figures.ts   GET /v1/figures, GET /v1/promises
 *   workers.ts   workers, their sessions, and draining
 *   plugins.ts   plugins, on or off
 *   skills.ts    GET /v1/skills
 *   agents.ts    GET /v1/agents
 *   upstreams.ts upstreams: state, on or off, reconnect
 *   tool-lock.ts GET /v1/tool-lock
 *   keys.ts      API keys of the caller's tenant
 *   audit.ts     GET /v1/audit
 */
import { AppError, Readiness, readinessOf, toAppError } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RouteDeps } from '../../app-deps.ts';
import { jsonSchemaOf } from '../../openapi/schemas.ts';

const alive = jsonSchemaOf(z.object({ status: z.literal('ok') }));
type Trouble = Parameters<typeof readinessOf>[0];
const readiness = jsonSchemaOf(Readiness);

/** Adds /healthz and /readyz: no credential is needed, but the Host and Origin checks apply. */
export function addHealthRoutes(app: FastifyInstance, { dispatch, writes, shutdown }: RouteDeps): void {
  const config = { public: true, probe: true };
  app.get(
    '/healthz',
    {
      config,
      schema: {
        tags: ['health'],
        operationId: 'getHealth',
        summary: 'Whether the process responds',
        response: { 200: alive },
      },
    },
    async () => ({
      status: 'ok',
    }),
  );

  const troubleNow = async (): Promise<Trouble> => {
    if (shutdown?.aborted)
      return { part: 'gateway', error: new AppError('unavailable', 'The gateway is shutting down.') };
    const found = writes.trouble();
    // A timed-out write may be due to a gateway short of CPU, so ping again. A refusal by Redis (`details`)
    // is certain.
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
        summary: 'Whether the gateway can serve: Redis accepts writes, and no shutdown is in progress',
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
