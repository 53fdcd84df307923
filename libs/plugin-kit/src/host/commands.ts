/**
 * Slash commands: what a person types, and what comes of it. A command is never looked for in text that goes to the
 * model.
 */
import type {
  CommandAnswer,
  CommandContext,
  CommandOutput,
  MaybePromise,
  PluginLogger,
} from '../contract/contract.ts';
import { textOf } from '../text-of.ts';
import { silentLogger } from './detached-context.ts';

export interface Command {
  /** Without the slash: `^[a-z0-9][a-z0-9-]{0,63}$`. */
  name: string;
  /** One line. */
  description: string;
  /** Under which heading `/help` lists it. */
  group: string;
  /** What may follow the name, e.g. `<skill>`. */
  argumentHint?: string;
  /** `args` is what follows the name, trimmed. A throw becomes an error result. */
  execute(args: string, context: CommandContext): MaybePromise<CommandOutput>;
}

export interface CommandResult extends CommandAnswer {
  isError: boolean;
}

export interface CommandRegistry {
  /** Throws for a bad or taken name. Returns how to take it back. */
  register(command: Command): () => void;
  /** For what others bring: a bad or taken name is an error result, logged, and what was there stays. */
  registerChecked(
    command: Command,
  ): { registered: true; unregister(): void } | { registered: false; error: string };
  /** Runs `/name args`, with or without the slash. Never rejects: an unknown command is an error result, too. */
  dispatch(line: string, context: CommandContext): Promise<CommandResult>;
  /** In alphabetical order. */
  names(): string[];
  get(name: string): Command | undefined;
  has(name: string): boolean;
}

/** As names of skills may be. */
export const commandNamePattern = /^[a-z0-9][a-z0-9-]{0,63}$/;

export function createCommandRegistry(deps: { logger?: PluginLogger } = {}): CommandRegistry {
  const { logger = silentLogger } = deps;
  const commands = new Map<string, Command>();

  const problemOf = ({ name }: Command): string | undefined => {
    if (typeof name !== 'string' || !commandNamePattern.test(name))
      return `"${name}" is no name for a command: it must match ${commandNamePattern.source}`;
    return commands.has(name) ? `there is a command /${name} already` : undefined;
  };
  const add = (command: Command) => {
    commands.set(command.name, command);
    return () => {
      // Another may have taken the name meanwhile.
      if (commands.get(command.name) === command) commands.delete(command.name);
    };
  };

  return {
    register(command) {
      const problem = problemOf(command);
      if (problem) throw new Error(problem);
      return add(command);
    },
    registerChecked(command) {
      const error = problemOf(command);
      if (!error) return { registered: true, unregister: add(command) };
      logger.warn({ command: command.name }, `command not registered: ${error}`);
      return { registered: false, error };
    },
    async dispatch(line, context) {
      const said = line.trim().replace(/^\//, '');
      const [name = ''] = said.split(/\s/, 1);
      const args = said.slice(name.length).trim();
      const command = commands.get(name);
      if (!command) return failed(`There is no command /${name}. /help lists all.`);
      try {
        const returned = await command.execute(args, context);
        return { isError: false, ...(typeof returned === 'string' ? { output: returned } : returned) };
      } catch (thrown) {
        logger.warn({ err: thrown, command: name }, 'command failed');
        return failed(`/${name} failed: ${textOf(thrown)}`);
      }
    },
    names: () => [...commands.keys()].sort(),
    get: (name) => commands.get(name),
    has: (name) => commands.has(name),
  };
}

const failed = (output: string): CommandResult => ({ output, isError: true });
