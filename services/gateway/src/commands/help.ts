import type { Command, CommandRegistry } from '@harness/plugin-kit';
import { briefTable, builtIn, commandsByGroup, refused } from './command-call.ts';

const headings = {
  'built-in': 'Built-in commands',
  skill: 'Skill commands',
  plugin: 'Plugin commands',
};

/** /help: lists the commands of the registry, or explains one. */
export const helpCommand = (registry: CommandRegistry): Command =>
  builtIn({
    name: 'help',
    description: 'Lists all commands, or explains one',
    argumentHint: '[command]',
    execute(args, { principal }) {
      const offered = commandsByGroup(registry, principal?.tenant ?? '');
      if (args !== '')
        return helpOn(
          offered.flatMap(([, commands]) => commands),
          args.replace(/^\//, ''),
        );
      return offered
        .filter(([, commands]) => commands.length > 0)
        .map(
          ([group, commands]) =>
            `${headings[group]}:\n${briefTable(commands.map((command) => [usageOf(command), command.description]))}`,
        )
        .join('\n\n');
    },
  });

function helpOn(offered: readonly Command[], name: string) {
  const command = offered.find((one) => one.name === name);
  if (!command) return refused(`There is no command /${name}. /help lists all.`);
  return `${usageOf(command)} (${command.group})\n  ${command.description}`;
}

const usageOf = ({ name, argumentHint }: Command) => `/${name}${argumentHint ? ` ${argumentHint}` : ''}`;
