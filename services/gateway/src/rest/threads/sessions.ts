import { Prewarm } from '@harness/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, jsonSchemaOf, refTo } from '../../openapi/schemas.ts';
import { senderOf } from '../../tools/caller-rights.ts';
import { threadParams } from './threads.ts';

interface ThreadRoute {
  Params: { threadId: string };
}

/** Adds the routes for prewarming and reading a thread's session. */
export function addSessionRoutes(app: FastifyInstance, { dispatch, recordChange }: RouteDeps): void {
  const { sessions, threads } = dispatch;
  const tags = ['sessions'];
  const prewarm = async (request: FastifyRequest, threadId: string) => {
    const { state, workerId } = await sessions.prewarm(request.caller.principal.tenant, threadId);
    return { threadId, state, workerId };
  };
  const prewarmed = {
    type: 'object',
    properties: {
      threadId: { type: 'string' },
      state: { type: 'string' },
      workerId: { type: ['string', 'null'] },
    },
  };

  app.post<ThreadRoute>(
    '/v1/threads/:threadId/prewarm',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'prewarmThread',
        summary: 'Start the thread’s session before its next run',
        params: threadParams,
        response: answers({ 202: prewarmed }, 404),
      },
    },
    async (request, reply) => reply.code(202).send(await prewarm(request, request.params.threadId)),
  );

  app.post<{ Body: Prewarm }>(
    '/api/prewarm',
    {
      config: { scope: 'threads', audit: false },
      schema: {
        tags,
        operationId: 'prewarm',
        summary: 'Old name of prewarmThread; creates the thread if it does not exist',
        deprecated: true,
        body: jsonSchemaOf(Prewarm),
        response: answers({ 202: prewarmed }, 400, 404),
      },
    },
    async (request, reply) => {
      const { caller, body } = request;
      const { threadId } = body;
      const wanted = { threadId, ifExists: 'doNothing' as const };
      await threads.create(caller.principal.tenant, wanted, senderOf(caller));
      const warmed = await prewarm(request, threadId);
      recordChange(request, { target: threadId });
      return reply.code(202).send(warmed);
    },
  );

  app.get<ThreadRoute>(
    '/v1/threads/:threadId/session',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'getThreadSession',
        summary: 'Get the state and worker of the thread’s session',
        params: threadParams,
        response: answers({ 200: refTo('ThreadSession') }, 404),
      },
    },
    async (request) => {
      return sessions.get(request.caller.principal.tenant, request.params.threadId);
    },
  );
}
