import { AppError } from '@harness/contracts';
import type { HeldThread } from '@harness/dispatch';

/** The system prompt of a thread that has neither an agent nor its own. */
export const defaultSystemPrompt =
  'You are an agent of a tool gateway. Use the tools you are offered; answer in plain text when you are done.';

/**
 * Builds the system prompt of a thread: its agent's instructions, its own prompt, then the active skill's
 * instructions; undefined = the default prompt. Throws `agent_not_found` or `skill_not_found` if one no
 * longer exists: the thread must not run without those instructions.
 */
export function systemPromptOf({
  agent,
  skill,
  systemPrompt,
}: Pick<HeldThread, 'agent' | 'skill' | 'systemPrompt'>): string | undefined {
  if (agent && agent.instructions === undefined)
    throw new AppError(
      'agent_not_found',
      `The agent "${agent.name}" of this thread no longer exists. Set another one, or "/agent none".`,
    );
  if (skill && skill.instructions === undefined)
    throw new AppError(
      'skill_not_found',
      `The skill "${skill.name}", which is active on this thread, no longer exists. "/use" without a name ends it.`,
    );
  const own = [agent?.instructions, systemPrompt].filter((part) => part !== undefined && part !== '');
  if (!skill) return own.length > 0 ? own.join('\n\n') : undefined;
  const active = `The skill "${skill.name}" is active. Follow it:\n\n${skill.instructions}`;
  return [...(own.length > 0 ? own : [defaultSystemPrompt]), active].join('\n\n');
}
