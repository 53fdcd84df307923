/**
 * The slash commands of this gateway. When two have the same name, a built-in command wins over a plugin's,
 * and a plugin's over a skill's; so every gateway resolves a name alike, in whatever order changes arrived.
 *
 * This folder:
 *   command-call.ts   types; what the commands share: scope checks, tables, refusals
 *   command-deps.ts   what commands need
 *   help.ts           /help
 *   skills.ts         /skills, /use and `/<skill>`
 *   agent.ts          /agent
 *   thread.ts         /clear, /status, /model, /prewarm
 *   tools.ts          /tools
 *   tasks.ts          /delegate, /tasks, /cancel
 *   quit.ts           /quit, /exit
 */
import { cleanText } from '@harness/contracts';
import {
  type Command,
  type CommandContext,
  type CommandRegistry,
  commandNameIn,
  createCommandRegistry,
  type Diagnostic,
} from '@harness/plugin-kit';
import type { Skill } from '@harness/plugins';
import type { Changes } from '../content/list-changes.ts';
import { usableAgents, usableSkills } from '../content/thread-profile.ts';
import type { Caller } from '../http/credentials/authenticate.ts';
import { callerScope } from '../tools/caller-scope.ts';
import { agentCommand } from './agent.ts';
import { type Commands, commandsByGroup } from './command-call.ts';
import type { CommandDeps } from './command-deps.ts';
import { helpCommand } from './help.ts';
import { quitCommands } from './quit.ts';
import { skillCommandOf, skillCommands } from './skills.ts';
import { taskCommands } from './tasks.ts';
import { threadCommands } from './thread.ts';
import { toolsCommand } from './tools.ts';

/** Creates the commands. Those of plugins and skills are rebuilt when either list changes. */
export function createCommands({ changes, ...deps }: CommandDeps & { changes: Changes }): Commands {
  const { dispatch, tools, logger, scrubber } = deps;
  const registry = createCommandRegistry({ logger });
  const builtIn = [
    helpCommand(registry),
    ...skillCommands(deps),
    agentCommand(deps),
    ...threadCommands(deps),
    toolsCommand(),
    ...taskCommands(deps),
    ...quitCommands(),
  ];
  for (const command of builtIn) registry.register(command);
  const changing = createChangingCommands(registry, deps);
  // Logs a collision when it appears, not only at the next command.
  changes.onChange(changing.update);

  const contextOf = async (caller: Caller, threadId: string): Promise<CommandContext> => {
    const { principal } = caller;
    const { agent, skill, model } = await dispatch.threads.get(principal.tenant, threadId);
    const seesTools = principal.scopes.includes('tools');
    return {
      threadId,
      activeAgent: agent ?? undefined,
      activeSkill: skill ?? undefined,
      model: model ?? undefined,
      toolNames: seesTools ? tools.list(caller).map(({ name }) => name) : [],
      skillNames: usableSkills(deps, principal.tenant).map(({ name }) => name),
      agentNames: usableAgents(deps, principal.tenant).map(({ name }) => name),
      principal,
    };
  };

  return {
    isSkillCommand(skill) {
      changing.update();
      return registry.get(skill.name)?.group === 'skill' && isMarked(skill, deps);
    },
    diagnostics: () => changing.update(),
    list(tenant) {
      changing.update();
      return commandsByGroup(registry, tenant).flatMap(([group, commands]) =>
        commands.map(({ name, description, argumentHint }) => ({
          name,
          description,
          group,
          ...(argumentHint && { argumentHint }),
        })),
      );
    },
    nameIn(tenant, line) {
      changing.update();
      const command = registry.get(commandNameIn(line));
      return command && command.isFor?.(tenant) !== false ? `/${command.name}` : undefined;
    },
    async run(caller, threadId, line) {
      changing.update();
      const context = await contextOf(caller, threadId);
      const { principal } = caller;
      const view = { tools: caller.tools, scopes: principal.scopes, tenant: principal.tenant };
      const call = { meta: { threadId, principal }, view: async () => view };
      const { tenant } = principal;
      const result = await callerScope.run({ tenant, call }, () => registry.dispatch(line, context));
      return result.isError ? scrubber.json(result) : { ...result, output: cleanText(result.output) };
    },
  };
}

/** Whether a skill is offered as a command of its own. */
const isMarked = ({ userInvocable }: Skill, { skillCommands: which }: CommandDeps): boolean =>
  which === 'all' ? userInvocable !== false : userInvocable === true;

/** Keeps the commands of plugins and of skills in the registry as both lists change. */
function createChangingCommands(registry: CommandRegistry, deps: CommandDeps) {
  const { plugins, skills, logger } = deps;
  let registrations: (() => void)[] = [];
  let seen: readonly unknown[] = [];
  let skillDiagnostics: readonly Diagnostic[] = [];
  /** Collisions that were logged: each is logged once while it lasts. */
  let logged: ReadonlySet<string> = new Set();
  const logOnce = (collisions: readonly string[]) => {
    for (const collision of collisions) if (!logged.has(collision)) logger.warn(collision);
    logged = new Set(collisions);
  };
  /** Registers the command. Returns why that is impossible, or undefined. */
  const collisionOf = (command: Command): string | undefined => {
    const owner = registry.get(command.name);
    if (owner) return `/${command.name} is a ${owner.group} command already`;
    registrations.push(registry.register(command));
    return undefined;
  };
  const registerPlugins = () =>
    plugins.commands.flatMap((command) => {
      const collision = collisionOf(command);
      return collision
        ? [`The command /${command.name} of a plugin is not registered: ${collision}. Rename one of them.`]
        : [];
    });
  const registerSkills = () =>
    usableSkills(deps)
      .filter((skill) => isMarked(skill, deps))
      .flatMap((skill): Diagnostic[] => {
        const collision = collisionOf(skillCommandOf(skill, deps));
        if (!collision) return [];
        const { name, place } = skill;
        const message = `${place}/SKILL.md: the skill "${name}" has no command: ${collision}. "/use ${name}" makes it active.`;
        return [{ source: place, level: 'warning', message }];
      });
  /** Rebuilds both lists if either has changed. Returns the skills without a command. */
  const update = (): readonly Diagnostic[] => {
    const now = [plugins.commands, skills.loaded];
    if (now.every((list, at) => list === seen[at])) return skillDiagnostics;
    seen = now;
    for (const unregister of registrations) unregister();
    registrations = [];
    const ofPlugins = registerPlugins();
    skillDiagnostics = registerSkills();
    logOnce([...ofPlugins, ...skillDiagnostics.map(({ message }) => message)]);
    return skillDiagnostics;
  };
  update();
  return { update };
}
