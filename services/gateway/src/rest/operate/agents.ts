import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { usableAgents } from '../../content/thread-profile.ts';
import { answers, loadedOf } from '../../openapi/schemas.ts';

/** Adds GET /v1/agents. */
export function addAgentRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const { agents, folders } = deps;
  app.get(
    '/v1/agents',
    {
      config: { scope: 'threads' },
      schema: {
        tags: ['threads'],
        operationId: 'listAgents',
        summary: 'List agents, and why others did not load',
        response: answers({ 200: loadedOf('agents', 'Agent') }),
      },
    },
    async (request) => {
      const described = usableAgents(deps, request.caller.principal.tenant).map(
        ({ name, description, model, tools }) => ({
          name,
          description,
          ...(model && { model }),
          ...(tools && { tools }),
        }),
      );
      return { agents: described, diagnostics: [...agents.diagnostics, ...folders.diagnostics('agents')] };
    },
  );
}
