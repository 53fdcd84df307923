import { ForkThread } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, jsonSchemaOf, refTo } from '../../openapi/schemas.ts';
import { senderOf } from '../../tools/caller-rights.ts';
import { threadParams } from './threads.ts';

/** Adds POST /v1/threads/:threadId/fork. */
export function addForkRoute(app: FastifyInstance, { dispatch, recordChange }: RouteDeps): void {
  app.post<{ Params: { threadId: string }; Body: ForkThread }>(
    '/v1/threads/:threadId/fork',
    {
      config: { scope: 'threads', audit: false },
      // Every field is optional, and so is the body.
      preValidation: async (request) => {
        request.body ??= {};
      },
      schema: {
        tags: ['threads'],
        operationId: 'forkThread',
        summary: 'Create a thread with the conversation and the files of another one',
        description:
          'As they are, or as they were when a run ended. The new thread has the settings of the other one; its own runs begin with the next message.',
        params: threadParams,
        body: jsonSchemaOf(ForkThread),
        response: answers({ 201: refTo('Thread') }, 400, 404, 409),
      },
    },
    async (request, reply) => {
      const { caller, params, body: wish } = request;
      const { tenant } = caller.principal;
      const fork = { wish, sender: senderOf(caller) };
      const thread = await dispatch.threads.fork(tenant, params.threadId, fork);
      recordChange(request, { target: thread.threadId, about: { forkedFrom: params.threadId } });
      return reply.code(201).send(thread);
    },
  );
}
