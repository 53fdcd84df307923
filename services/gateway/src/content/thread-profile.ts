import { AppError } from '@harness/contracts';
import { isFor } from '@harness/plugin-kit';
import { type Agent, type Skill, skillPluginName } from '@harness/plugins';
import type { RouteDeps } from '../app-deps.ts';

/**
 * Checks the agent and skill of a tenant's thread; null and undefined mean none. Throws `agent_not_found` and
 * `skill_not_found`.
 */
export function checkProfile(
  deps: Pick<RouteDeps, 'agents' | 'skills' | 'plugins'>,
  tenant: string,
  { agent, skill }: { agent?: string | null | undefined; skill?: string | null | undefined },
): void {
  if (agent && !usableAgents(deps, tenant).some(({ name }) => name === agent))
    throw new AppError('agent_not_found', `There is no agent "${agent}". GET /v1/agents lists the agents.`);
  if (skill && !usableSkills(deps, tenant).some(({ name }) => name === skill))
    throw new AppError('skill_not_found', `There is no skill "${skill}". GET /v1/skills lists the skills.`);
}

/** The agents that a tenant may use. */
export const usableAgents = ({ agents }: Pick<RouteDeps, 'agents'>, tenant: string): readonly Agent[] =>
  agents.loaded.filter((agent) => isFor(agent, tenant));

/** The skills that a tenant may use, or without a tenant any of them: none while the skills plugin is disabled. */
export const usableSkills = (
  { skills, plugins }: Pick<RouteDeps, 'skills' | 'plugins'>,
  tenant?: string,
): readonly Skill[] => {
  if (!plugins.isEnabled(skillPluginName, tenant)) return [];
  return tenant === undefined ? skills.loaded : skills.loaded.filter((skill) => isFor(skill, tenant));
};
