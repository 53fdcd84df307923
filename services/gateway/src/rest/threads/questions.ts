import { Answer } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, jsonSchemaOf } from '../../openapi/schemas.ts';
import { threadParams } from './threads.ts';

/** Adds POST /v1/threads/:threadId/questions/:questionId. */
export function addQuestionRoute(app: FastifyInstance, { dispatch }: RouteDeps): void {
  app.post<{ Params: { threadId: string; questionId: string }; Body: Answer }>(
    '/v1/threads/:threadId/questions/:questionId',
    {
      config: { scope: 'threads' },
      schema: {
        tags: ['sessions'],
        operationId: 'answerQuestion',
        summary: 'Answer a question of a tool to a person',
        description:
          'A tool that needs input asks by an event `agent.question`, while a client follows the thread’s events with `answers=true`. Without an answer within 5 minutes, or when no client follows any more, the question is declined.',
        params: {
          ...threadParams,
          properties: { ...threadParams.properties, questionId: { type: 'string' } },
          required: [...threadParams.required, 'questionId'],
        },
        body: jsonSchemaOf(Answer),
        response: answers({ 202: jsonSchemaOf(Answer.pick({ action: true })) }, 400, 404, 409),
      },
    },
    async ({ caller, params, body }, reply) => {
      await dispatch.questions.answer({ tenant: caller.principal.tenant, ...params }, body);
      return reply.code(202).send({ action: body.action });
    },
  );
}
