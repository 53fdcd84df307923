import { randomUUID } from 'node:crypto';
import { type Command, type CommandAnswer, type CommandContext, isFor } from '@harness/plugin-kit';
import { type Skill, skillPluginName } from '@harness/plugins';
import { usableSkills } from '../content/thread-profile.ts';
import { acceptMessage } from '../threads/accept-message.ts';
import { currentSender } from '../tools/caller-scope.ts';
import { briefTable, builtIn, callOf, refused } from './command-call.ts';
import type { CommandDeps } from './command-deps.ts';

/** /skills and /use. */
export const skillCommands = (deps: CommandDeps): Command[] => [
  builtIn({
    name: 'skills',
    description: 'Lists the skills',
    execute(_args, { activeSkill, principal }) {
      const skills = usableSkills(deps, principal?.tenant);
      if (skills.length === 0) return 'There are no skills.';
      const rows = skills.map(
        ({ name, description }) => [name === activeSkill ? `${name} (active)` : name, description] as const,
      );
      return `Skills:\n${briefTable(rows)}\n\n/use <skill> makes one active on this thread.`;
    },
  }),
  builtIn({
    name: 'use',
    description: 'Makes a skill active on this thread; without a name, ends it',
    argumentHint: '[skill]',
    execute: (args, context) => (args === '' ? end(deps, context) : begin(deps, context, args)),
  }),
];

/** `/<skill> [message]`: makes the skill active and sends the message to the thread. */
export const skillCommandOf = (
  { name, description, argumentHint, ...skill }: Skill,
  deps: CommandDeps,
): Command => ({
  name,
  description,
  group: 'skill',
  isFor: (tenant) => isFor(skill, tenant) && deps.plugins.isEnabled(skillPluginName, tenant),
  argumentHint: argumentHint ?? '[message]',
  async execute(args, context) {
    const begun = await begin(deps, context, name);
    if (args === '' || begun.isError) return begun;
    const { tenant, threadId } = callOf(context);
    const message = {
      tenant,
      threadId,
      request: { input: args },
      idempotencyKey: randomUUID(),
      sender: await currentSender(),
    };
    const { runId } = await acceptMessage(deps, message);
    return { output: `${begun.output} Your message is sent.`, runId };
  },
});

async function begin(deps: CommandDeps, context: CommandContext, skill: string): Promise<CommandAnswer> {
  const { tenant, threadId } = callOf(context);
  if (!context.skillNames.includes(skill)) return refused(`There is no skill "${skill}". /skills lists all.`);
  await deps.dispatch.threads.update({ tenant, threadId }, { skill }, await currentSender());
  return { output: `The skill "${skill}" is active on this thread from its next turn on; /use ends it.` };
}

async function end(deps: CommandDeps, context: CommandContext): Promise<string> {
  const { tenant, threadId } = callOf(context);
  if (context.activeSkill === undefined) return 'No skill is active. /use <skill> begins one.';
  await deps.dispatch.threads.update({ tenant, threadId }, { skill: null }, await currentSender());
  return `The skill "${context.activeSkill}" is no longer active.`;
}
