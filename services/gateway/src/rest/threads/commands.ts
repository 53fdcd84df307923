import { RunCommand } from '@harness/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, jsonSchemaOf, listOf, refTo } from '../../openapi/schemas.ts';
import { threadParams } from './threads.ts';

/** Adds GET /v1/commands and POST /v1/threads/:threadId/commands. */
export function addCommandRoutes(app: FastifyInstance, { commands, recordChange }: RouteDeps): void {
  const tags = ['commands'];

  app.get(
    '/v1/commands',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'listCommands',
        summary: 'List commands: built-in ones, those of skills and those of plugins',
        response: answers({ 200: listOf('commands', 'Command') }),
      },
    },
    async (request) => {
      return { commands: commands.list(request.caller.principal.tenant) };
    },
  );

  app.post<{ Params: { threadId: string }; Body: RunCommand }>(
    '/v1/threads/:threadId/commands',
    {
      config: { scope: 'threads', audit: false },
      schema: {
        tags,
        operationId: 'runCommand',
        summary: 'Run a command on a thread, with or without its slash',
        params: threadParams,
        body: jsonSchemaOf(RunCommand),
        response: answers(
          { 200: { description: 'It ran; isError says whether it failed', ...refTo('CommandResult') } },
          400,
          404,
        ),
      },
    },
    async (request) => {
      const { command } = request.body;
      const { tenant } = request.caller.principal;
      const result = await commands.run(request.caller, request.params.threadId, command);
      const outcome = result.code ?? (result.isError ? 'command_failed' : 'ok');
      // Only a name that exists: anything else may be the text of a message.
      recordChange(request, { outcome, about: { command: commands.nameIn(tenant, command) } });
      return result;
    },
  );
}
