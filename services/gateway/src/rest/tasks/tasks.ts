import { CreateTask } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { requireScope } from '../../http/credentials/authenticate.ts';
import { answers, boundedListOf, jsonSchemaOf, page, refTo } from '../../openapi/schemas.ts';
import { acceptTask } from '../../threads/accept-message.ts';
import { senderOf } from '../../tools/caller-rights.ts';
import { boundedList } from '../bounded-list.ts';
import { idempotencyHeader } from '../threads/runs.ts';

interface TaskRoute {
  Params: { taskId: string };
}

const taskParams = {
  type: 'object',
  properties: { taskId: { type: 'string', description: 'task_ and 32 hex digits' } },
  required: ['taskId'],
};

/** Adds the routes below /v1/tasks. */
export function addTaskRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const { tasks } = deps.dispatch;
  const tags = ['tasks'];

  app.post<{ Body: CreateTask }>(
    '/v1/tasks',
    {
      config: { scope: 'tasks', audit: false },
      schema: {
        tags,
        operationId: 'createTask',
        summary: 'Delegate a task to a sub-agent',
        headers: idempotencyHeader,
        body: jsonSchemaOf(CreateTask),
        response: answers(
          {
            200: {
              description: 'An earlier request with the same Idempotency-Key created it',
              ...refTo('Task'),
            },
            201: refTo('Task'),
          },
          400,
          404,
          422,
        ),
      },
    },
    async (request, reply) => {
      const { body } = request;
      if (body.parentThreadId) requireScope(request.caller, 'threads');
      const { tenant } = request.caller.principal;
      const idempotencyKey = request.headers['idempotency-key']?.toString();
      const { task, existing } = await acceptTask(deps, {
        tenant,
        ...body,
        idempotencyKey,
        sender: senderOf(request.caller),
      });
      if (!existing) deps.recordChange(request, { target: task.taskId });
      return reply.code(existing ? 200 : 201).send(task);
    },
  );

  app.get<{ Querystring: { limit: number; offset: number } }>(
    '/v1/tasks',
    {
      config: { scope: 'tasks' },
      schema: {
        tags,
        operationId: 'listTasks',
        summary: 'List tasks, latest first',
        querystring: page,
        response: answers({ 200: boundedListOf('tasks', 'Task') }, 400),
      },
    },
    async (request) => {
      const { kept, ...rest } = boundedList(await tasks.list(request.caller.principal.tenant, request.query));
      return { tasks: kept, ...rest };
    },
  );

  app.get<TaskRoute>(
    '/v1/tasks/:taskId',
    {
      config: { scope: 'tasks' },
      schema: {
        tags,
        operationId: 'getTask',
        summary: 'Get a task',
        params: taskParams,
        response: answers({ 200: refTo('Task') }, 404),
      },
    },
    async (request) => {
      return tasks.get(request.caller.principal.tenant, request.params.taskId);
    },
  );

  app.post<TaskRoute>(
    '/v1/tasks/:taskId/cancel',
    {
      config: { scope: 'tasks' },
      schema: {
        tags,
        operationId: 'cancelTask',
        summary: 'Cancel a task and every task below it',
        params: taskParams,
        response: answers({ 200: refTo('Task') }, 404),
      },
    },
    async (request) => {
      return tasks.cancel(request.caller.principal.tenant, request.params.taskId);
    },
  );
}
