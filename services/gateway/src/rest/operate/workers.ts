import { WorkerInfo } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, jsonSchemaOf, listOf } from '../../openapi/schemas.ts';

const drained = jsonSchemaOf(WorkerInfo.pick({ workerId: true }).extend({ draining: z.literal(true) }));

const workerParams = {
  type: 'object',
  properties: { workerId: { type: 'string' } },
  required: ['workerId'],
};

/** Adds GET /v1/workers, GET /v1/workers/:workerId/sessions and POST /v1/workers/:workerId/drain. */
export function addWorkerRoutes(app: FastifyInstance, { dispatch }: RouteDeps): void {
  const tags = ['workers'];
  app.get(
    '/v1/workers',
    {
      config: { scope: 'fleet' },
      schema: {
        tags,
        operationId: 'listWorkers',
        summary: 'List live workers',
        response: answers({ 200: listOf('workers', 'Worker') }),
      },
    },
    async () => ({ workers: await dispatch.workers.list() }),
  );
  app.get<{ Params: { workerId: string } }>(
    '/v1/workers/:workerId/sessions',
    {
      config: { scope: 'fleet' },
      schema: {
        tags,
        operationId: 'listWorkerSessions',
        summary: 'List the threads that a worker holds, of all tenants, with their sessions',
        params: workerParams,
        response: answers({ 200: listOf('sessions', 'WorkerSession') }, 404),
      },
    },
    async (request) => {
      return { sessions: await dispatch.sessions.ofWorker(request.params.workerId) };
    },
  );
  app.post<{ Params: { workerId: string } }>(
    '/v1/workers/:workerId/drain',
    {
      config: { scope: 'fleet' },
      schema: {
        tags,
        operationId: 'drainWorker',
        summary: 'Let a worker finish its turns and exit',
        params: workerParams,
        response: answers({ 202: drained }, 404),
      },
    },
    async (request, reply) => {
      await dispatch.workers.drain(request.params.workerId);
      return reply.code(202).send({ workerId: request.params.workerId, draining: true });
    },
  );
}
