import { AppError, CallTool, type ErrorBody } from '@harness/contracts';
import type { ToolResult } from '@harness/plugin-kit';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { disconnectSignalOf } from '../../http/client-disconnect.ts';
import { traceparentOf } from '../../http/trace-requests.ts';
import { answers, jsonSchemaOf, listOf, refTo } from '../../openapi/schemas.ts';

interface ToolRoute {
  Params: { name: string };
}

const toolParams = {
  type: 'object',
  properties: { name: { type: 'string', description: '<plugin>__<tool>' } },
  required: ['name'],
};

/** Adds the routes below /v1/tools. */
export function addToolRoutes(app: FastifyInstance, { tools }: RouteDeps): void {
  const tags = ['tools'];

  app.get(
    '/v1/tools',
    {
      config: { scope: 'tools' },
      schema: {
        tags,
        operationId: 'listTools',
        summary: 'List tools',
        response: answers({ 200: listOf('tools', 'Tool') }),
      },
    },
    async (request) => {
      return { tools: tools.list(request.caller) };
    },
  );

  app.get<ToolRoute>(
    '/v1/tools/:name',
    {
      config: { scope: 'tools' },
      schema: {
        tags,
        operationId: 'getTool',
        summary: 'Get a tool',
        params: toolParams,
        response: answers({ 200: refTo('Tool') }, 404),
      },
    },
    async (request) => {
      const tool = tools.list(request.caller).find(({ name }) => name === request.params.name);
      if (!tool)
        throw new AppError(
          'tool_not_found',
          `There is no tool "${request.params.name}". GET /v1/tools lists the tools.`,
        );
      return tool;
    },
  );

  app.post<ToolRoute & { Body: CallTool }>(
    '/v1/tools/:name',
    {
      config: { audit: false }, // each call has its own record
      schema: {
        tags,
        operationId: 'callTool',
        summary: 'Call a tool',
        params: toolParams,
        body: jsonSchemaOf(CallTool),
        response: answers(
          { 200: { description: 'It ran; isError says whether it failed', ...refTo('ToolAnswer') } },
          400,
          404,
          422,
        ),
      },
    },
    async (request, reply) => {
      const { arguments: input = {}, threadId } = request.body;
      const { name } = request.params;
      // A REST caller cannot be asked for input: a tool that needs it fails with capability_missing.
      const call = {
        name,
        transport: 'rest',
        arguments: input,
        threadId,
        traceparent: traceparentOf(request.headers.traceparent),
        signal: disconnectSignalOf(reply.raw),
      } as const;
      const outcome = await tools.call(request.caller, call);
      const { content, structuredContent, isError = false, _meta } = outcome as ToolResult;
      // Invalid input is a client error over REST; over MCP it is a tool result, for the model to read.
      const failure = _meta?.['harness/error'] as ErrorBody | undefined;
      if (failure?.code === 'invalid_tool_input') {
        throw new AppError('invalid_tool_input', failure.message, { details: failure.details });
      }
      return { content, ...(structuredContent && { structuredContent }), isError };
    },
  );
}
