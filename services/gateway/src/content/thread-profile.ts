import { AppError } from '@harness/contracts';
import { type Skill, skillPluginName } from '@harness/plugins';
import type { RouteDeps } from '../app-deps.ts';

/**
 * Checks the agent and skill of a thread; null and undefined mean none. Throws `agent_not_found` and
 * `skill_not_found`.
 */
export function checkProfile(
  { agents, skills, plugins }: Pick<RouteDeps, 'agents' | 'skills' | 'plugins'>,
  { agent, skill }: { agent?: string | null | undefined; skill?: string | null | undefined },
): void {
  if (agent && !agents.loaded.some(({ name }) => name === agent))
    throw new AppError('agent_not_found', `There is no agent "${agent}".`);
  if (skill && !usableSkills({ skills, plugins }).some(({ name }) => name === skill))
    throw new AppError('skill_not_found', `There is no skill "${skill}".`);
}

/** The skills that may be used: none while the skills plugin is disabled. */
export const usableSkills = ({ skills, plugins }: Pick<RouteDeps, 'skills' | 'plugins'>): readonly Skill[] =>
  plugins.isEnabled(skillPluginName) ? skills.loaded : [];
