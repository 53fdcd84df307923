import { isFor } from '@harness/plugin-kit';
import { skillPluginName } from '@harness/plugins';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, loadedOf } from '../../openapi/schemas.ts';

/** Adds GET /v1/skills. */
export function addSkillRoutes(
  app: FastifyInstance,
  { skills, commands, folders, scrubber }: RouteDeps,
): void {
  app.get(
    '/v1/skills',
    {
      config: { scope: 'tools' },
      schema: {
        tags: ['tools'],
        operationId: 'listSkills',
        summary: 'List skills, and why others did not load',
        response: answers({ 200: loadedOf('skills', 'Skill') }),
      },
    },
    async (request) => {
      const { tenant } = request.caller.principal;
      const offered = skills.loaded.filter((skill) => isFor(skill, tenant));
      const described = offered.map((skill) => ({
        name: skill.name,
        description: skill.description,
        ...(skill.modelInvocable && { tool: `${skillPluginName}__${skill.name}` }),
        userInvocable: commands.isSkillCommand(skill),
        modelInvocable: skill.modelInvocable,
        context: skill.context,
        ...(skill.allowedTools && { allowedTools: skill.allowedTools }),
        ...(skill.argumentHint && { argumentHint: skill.argumentHint }),
        ...(skill.model && { model: skill.model }),
        files: skill.files.map(({ path, size }) => ({ path, size })),
      }));
      const diagnostics = [
        ...skills.diagnostics,
        ...commands.diagnostics(),
        ...folders.diagnostics('skills'),
      ];
      return { skills: described, diagnostics: scrubber.json(diagnostics) };
    },
  );
}
