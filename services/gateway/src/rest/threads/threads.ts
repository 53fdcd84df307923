import { CreateThread, UpdateThread } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { checkProfile } from '../../content/thread-profile.ts';
import type { Caller } from '../../http/credentials/authenticate.ts';
import { checkBytes, metadataLimitOf } from '../../limits/check-bytes.ts';
import { answers, jsonSchemaOf, refTo } from '../../openapi/schemas.ts';
import { senderOf } from '../../tools/caller-rights.ts';
import { toolsOfThread } from '../../tools/thread-tools.ts';
import { addListRoute } from './list-threads.ts';

/** The path parameter of all routes below a thread. */
export const threadParams = {
  type: 'object',
  properties: { threadId: { type: 'string', description: 'Generated, or chosen by the creator' } },
  required: ['threadId'],
};

/** Throws for an agent or skill that does not exist, and for metadata that is too large. */
function checkBody(
  deps: RouteDeps,
  { caller, body }: { caller: Caller; body: CreateThread | UpdateThread },
): void {
  checkProfile(deps, caller.principal.tenant, body);
  checkBytes(body.metadata, { name: 'metadata', most: metadataLimitOf(deps.limits, caller) });
}

/** Adds the routes below /v1/threads that create, read, change and delete threads. */
export function addThreadRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const { threads, replicas } = deps.dispatch;
  const tags = ['threads'];

  app.post<{ Body: CreateThread }>(
    '/v1/threads',
    {
      config: { scope: 'threads', audit: false },
      schema: {
        tags,
        operationId: 'createThread',
        summary: 'Create a thread',
        body: jsonSchemaOf(CreateThread),
        response: answers(
          {
            200: { description: 'It already existed (ifExists: doNothing)', ...refTo('Thread') },
            201: refTo('Thread'),
          },
          400,
          404,
          409,
          422,
        ),
      },
    },
    async (request, reply) => {
      checkBody(deps, request);
      const { caller, body } = request;
      const { thread, created } = await threads.create(caller.principal.tenant, body, senderOf(caller));
      if (created) deps.recordChange(request, { target: thread.threadId });
      return reply.code(created ? 201 : 200).send(thread);
    },
  );

  addListRoute(app, deps);

  app.get<{ Params: { threadId: string }; Querystring: { tools?: boolean } }>(
    '/v1/threads/:threadId',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'getThread',
        summary: 'Get a thread',
        params: threadParams,
        querystring: {
          type: 'object',
          properties: {
            tools: { type: 'boolean', description: 'With the tools that its session has: field `tools`' },
          },
        },
        response: answers({ 200: refTo('Thread') }, 404),
      },
    },
    async (request) => {
      const { tenant } = request.caller.principal;
      const thread = await threads.get(tenant, request.params.threadId);
      return request.query.tools ? { ...thread, tools: await toolsOfThread(deps, tenant, thread) } : thread;
    },
  );

  app.patch<{ Params: { threadId: string }; Body: UpdateThread }>(
    '/v1/threads/:threadId',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'updateThread',
        summary: 'Change a thread, from its next turn on; null clears a field',
        params: threadParams,
        body: jsonSchemaOf(UpdateThread),
        response: answers({ 200: refTo('Thread') }, 400, 404),
      },
    },
    async (request) => {
      checkBody(deps, request);
      const { caller, body, params } = request;
      const { tenant } = caller.principal;
      return threads.update({ tenant, threadId: params.threadId }, body, senderOf(caller));
    },
  );

  app.delete<{ Params: { threadId: string } }>(
    '/v1/threads/:threadId',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'deleteThread',
        summary: 'Delete a thread, its runs and events, and every thread below it',
        params: threadParams,
        response: answers({ 204: { type: 'null', description: 'Deleted' } }, 404),
      },
    },
    async (request, reply) => {
      const { tenant } = request.caller.principal;
      const { threadId } = request.params;
      await threads.delete(tenant, threadId);
      // Best effort: a gateway that misses it ends the upstream connections of the idle thread later.
      replicas.broadcast({ kind: 'thread_deleted', tenant, threadId }).catch(() => undefined);
      return reply.code(204).send();
    },
  );
}
