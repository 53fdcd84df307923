import { AppError } from '@harness/contracts';
import type { HeldThread } from '@harness/dispatch';

export const defaultSystemPrompt =
  'You are an agent of a tool gateway. Use the tools you are offered; answer in plain text when you are done.';

/**
 * Its agent's instructions, the thread's own words, then the active skill's; undefined = the default alone.
 * Throws `agent_not_found` and `skill_not_found` for one that is gone: what it was to do and not to do, and with which
 * tools, is not known any more.
 */
export function systemPromptOf({
  agent,
  skill,
  systemPrompt,
}: Pick<HeldThread, 'agent' | 'skill' | 'systemPrompt'>): string | undefined {
  if (agent && agent.instructions === undefined)
    throw new AppError('agent_not_found', `The agent "${agent.name}" of this thread is not there any more.`);
  if (skill && skill.instructions === undefined)
    throw new AppError(
      'skill_not_found',
      `The skill "${skill.name}", which is active on this thread, is not there any more. "/use" alone ends it.`,
    );
  const own = [agent?.instructions, systemPrompt].filter((part) => part !== undefined && part !== '');
  if (!skill) return own.length > 0 ? own.join('\n\n') : undefined;
  const active = `The skill "${skill.name}" is active. Follow it:\n\n${skill.instructions}`;
  return [...(own.length > 0 ? own : [defaultSystemPrompt]), active].join('\n\n');
}
