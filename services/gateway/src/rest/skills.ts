import { skillPluginName } from '@harness/plugins';
import type { FastifyInstance } from 'fastify';
import { requireScope } from '../auth.ts';
import type { RouteDeps } from '../deps.ts';
import { answers } from '../schemas.ts';

export function addSkillRoutes(app: FastifyInstance, { skills }: RouteDeps): void {
  app.get(
    '/v1/skills',
    {
      schema: {
        tags: ['tools'],
        summary: 'List skills and what is wrong with those that did not load',
        response: answers({ 200: { type: 'object' } }),
      },
    },
    async (request) => {
      requireScope(request.caller, 'tools');
      const described = skills.loaded.map(
        ({ name, description, userInvocable, context, allowedTools, argumentHint, model, files }) => ({
          name,
          description,
          tool: `${skillPluginName}__${name}`,
          userInvocable,
          context,
          ...(allowedTools && { allowedTools }),
          ...(argumentHint && { argumentHint }),
          ...(model && { model }),
          files: files.map(({ path, size }) => ({ path, size })),
        }),
      );
      return { skills: described, diagnostics: skills.diagnostics };
    },
  );
}
