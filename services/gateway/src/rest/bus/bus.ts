/**
 * The bus over REST: one route per bus tool, generated from their table, and lists. A tool's route calls the
 * tool, so validation, audit and permissions are the same; failures become HTTP statuses.
 */
import {
  AppError,
  BusTaskState,
  type BusToolName,
  busTools,
  type ErrorBody,
  type ErrorCode,
  errorCodes,
} from '@harness/contracts';
import type { ToolResult } from '@harness/plugin-kit';
import { busPlugin, busPluginName } from '@harness/plugins';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { disconnectSignalOf } from '../../http/client-disconnect.ts';
import { answers, jsonSchemaOf, listOf, page, refTo } from '../../openapi/schemas.ts';
import { createEventRoute, eventQuery, eventResponse } from '../threads/events.ts';

const tags = ['bus'];
const scope = 'bus';
const failures = [400, 404, 409, 412, 422, 428, 429] as const;

/** Adds the routes below /v1/bus. */
export function addBusRoutes(app: FastifyInstance, routes: RouteDeps): void {
  for (const name of Object.keys(busTools) as BusToolName[]) addToolRoute(app, routes, name);
  addLists(app, routes);
  const sendEvents = createEventRoute(routes);
  app.get<{ Querystring: { after?: string; follow: boolean } }>(
    '/v1/bus/events',
    {
      config: { scope, tickets: true },
      schema: {
        tags,
        operationId: 'getBusEvents',
        summary: 'Events of the bus: SSE, or a JSON page with Accept: application/json',
        querystring: eventQuery,
        response: answers(eventResponse, 400, 410),
      },
    },
    async (request, reply) => {
      return sendEvents(request, reply, { busOf: request.caller.principal.tenant });
    },
  );
}

/** submit_task -> busSubmitTask */
const operationIdOf = (name: BusToolName) =>
  `bus_${name}`.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Tools without audit records of their own: they read, or only prolong a lease; a polled task is recorded when acknowledged. */
const unrecorded: ReadonlySet<BusToolName> = new Set(['get_status', 'poll_task', 'heartbeat_task']);

function addToolRoute(
  app: FastifyInstance,
  { tools, plugins, recordChange }: RouteDeps,
  name: BusToolName,
): void {
  const { title, description, input, output, method, path } = busTools[name];
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, param]) => param as string);
  const { properties, required = [] } = jsonSchemaOf(input) as {
    properties: Record<string, object>;
    required?: string[];
  };
  const only = (isOwn: (property: string) => boolean) => ({
    type: 'object',
    properties: Object.fromEntries(Object.entries(properties).filter(([property]) => isOwn(property))),
    required: required.filter(isOwn),
  });
  const body = only((property) => !inPath.includes(property));
  const created = name === 'submit_task' ? { 201: jsonSchemaOf(output) } : {};
  app.route<{ Params: Record<string, string>; Body?: Record<string, unknown> | null }>({
    method,
    url: path,
    config: { audit: false },
    schema: {
      tags,
      operationId: operationIdOf(name),
      summary: title,
      description,
      ...(inPath.length > 0 ? { params: only((property) => inPath.includes(property)) } : {}),
      ...(Object.keys(body.properties).length > 0 ? { body } : {}),
      response: answers({ 200: jsonSchemaOf(output), ...created }, ...failures),
    },
    // The tool validates its input, which may also use old field names.
    validatorCompiler: () => () => true,
    async handler(request, reply) {
      if (typeof (request.body ?? {}) !== 'object' || Array.isArray(request.body))
        throw new AppError('invalid_request', 'The body must be an object.');
      // Not by name: if the built-in plugin is disabled, another plugin may have its name.
      if (!plugins.plugins.includes(busPlugin))
        throw new AppError(
          'not_found',
          'The bus is disabled at this gateway. Remove it from HARNESS_DISABLED_PLUGINS to enable it.',
        );
      const outcome = await tools.call(request.caller, {
        name: `${busPluginName}__${name}`,
        transport: 'bus',
        arguments: { ...request.body, ...request.params },
        signal: disconnectSignalOf(reply.raw),
      });
      const output = structuredOf(outcome as ToolResult);
      const ids = { ...request.body, ...request.params } as Record<string, unknown>;
      if (!unrecorded.has(name))
        recordChange(request, { target: String(ids.taskId ?? ids.name ?? ids.workerName) });
      return reply.code(name === 'submit_task' && output.existing === false ? 201 : 200).send(output);
    },
  });
}

/** Returns the structured content of a tool result. Throws an AppError for a failed one. */
function structuredOf({ structuredContent, isError, _meta }: ToolResult): Record<string, unknown> {
  if (!isError && structuredContent) return structuredContent;
  const { code, message, details } = (_meta?.['harness/error'] ?? {}) as Partial<ErrorBody>;
  const known = errorCodes.find((one): one is ErrorCode => one === code) ?? 'tool_failed';
  throw new AppError(known, message ?? 'The tool failed.', { details });
}

function addLists(app: FastifyInstance, { dispatch }: RouteDeps): void {
  const { bus } = dispatch;
  app.get<{ Querystring: { limit: number; offset: number; state?: BusTaskState } }>(
    '/v1/bus/tasks',
    {
      config: { scope },
      schema: {
        tags,
        operationId: 'listBusTasks',
        summary: 'List bus tasks, latest first; `state=dead` lists the dead letters',
        querystring: {
          ...page,
          properties: { ...page.properties, state: { enum: [...BusTaskState.options] } },
        },
        response: answers({ 200: listOf('tasks', 'BusTask') }, 400),
      },
    },
    async (request) => {
      return { tasks: await bus.tasks(request.caller.principal.tenant, request.query) };
    },
  );
  app.get<{ Params: { taskId: string } }>(
    '/v1/bus/tasks/:taskId',
    {
      config: { scope },
      schema: {
        tags,
        operationId: 'getBusTask',
        summary: 'Get a bus task with its payload and result',
        params: { type: 'object', properties: { taskId: { type: 'string' } }, required: ['taskId'] },
        response: answers({ 200: refTo('BusTaskDetail') }, 404),
      },
    },
    async (request) => {
      return bus.get(request.caller.principal.tenant, request.params.taskId);
    },
  );
  app.get<{ Querystring: { limit: number; offset: number } }>(
    '/v1/bus/workers',
    {
      config: { scope },
      schema: {
        tags,
        operationId: 'listBusWorkers',
        summary: 'List external workers, last seen first',
        querystring: page,
        response: answers({ 200: listOf('workers', 'BusWorker') }, 400),
      },
    },
    async (request) => {
      return { workers: await bus.workers(request.caller.principal.tenant, request.query) };
    },
  );
}
