/**
 * The registry of slash commands. It handles only lines that a person typed as a command; text for the model is never
 * parsed for commands.
 */
import { AppError, type ErrorCode } from '@harness/contracts';
import type {
  CommandAnswer,
  CommandContext,
  CommandOutput,
  MaybePromise,
  PluginLogger,
} from '../contract/contract.ts';
import { textOf } from '../text-of.ts';
import { silentLogger } from './detached-context.ts';

/** A registered command: the gateway's own, a plugin's or a skill's. */
export interface Command {
  /** Without the slash: `^[a-z0-9][a-z0-9-]{0,63}$`. */
  name: string;
  /** One line. */
  description: string;
  /** Heading under which `/help` lists it. */
  group: string;
  /** Whether a tenant is offered it. Default: all are. */
  isFor?: ((tenant: string) => boolean) | undefined;
  /** Placeholder for the arguments, e.g. `<skill>`. */
  argumentHint?: string;
  /** `args` is the text after the name, trimmed. A thrown error becomes an error result. */
  execute(args: string, context: CommandContext): MaybePromise<CommandOutput>;
}

/** The result of a command line. */
export interface CommandResult extends CommandAnswer {
  isError: boolean;
  /** The error code with which the command failed, if it has one. */
  code?: ErrorCode;
}

/** Commands by name. */
export interface CommandRegistry {
  /** Throws for an invalid or used name. Returns a function that unregisters the command. */
  register(command: Command): () => void;
  /** For commands from outside: an invalid or used name is logged and returned as an error; nothing is overwritten. */
  registerChecked(
    command: Command,
  ): { registered: true; unregister(): void } | { registered: false; error: string };
  /** Runs `/name args`, with or without the slash. Never rejects: an unknown command is also an error result. */
  dispatch(line: string, context: CommandContext): Promise<CommandResult>;
  /** All names, in alphabetical order. */
  names(): string[];
  get(name: string): Command | undefined;
  has(name: string): boolean;
}

/** The rule for command names. */
export const commandNamePattern = /^[a-z0-9][a-z0-9-]{0,63}$/;

const withoutSlash = (line: string): string => line.trim().replace(/^\//, '');

/** The first word of a command line, without the slash: the name of the command that it means, if there is one. */
export const commandNameIn = (line: string): string => withoutSlash(line).split(/\s/, 1)[0] ?? '';

/** Creates an empty registry. */
export function createCommandRegistry(deps: { logger?: PluginLogger } = {}): CommandRegistry {
  const { logger = silentLogger } = deps;
  const commands = new Map<string, Command>();

  const problemOf = ({ name }: Command): string | undefined => {
    if (typeof name !== 'string' || !commandNamePattern.test(name))
      return `"${name}" is not a valid command name: it must match ${commandNamePattern.source}`;
    return commands.has(name) ? `the command /${name} already exists` : undefined;
  };
  const add = (command: Command) => {
    commands.set(command.name, command);
    return () => {
      // Another command may have been registered under the name since.
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
      const name = commandNameIn(line);
      const args = withoutSlash(line).slice(name.length).trim();
      const command = commands.get(name);
      const isOffered =
        command && (!context.principal || command.isFor?.(context.principal.tenant) !== false);
      if (!isOffered) return failed(`There is no command /${name}. /help lists all.`);
      try {
        const returned = await command.execute(args, context);
        return { isError: false, ...(typeof returned === 'string' ? { output: returned } : returned) };
      } catch (thrown) {
        logger.warn({ err: thrown, command: name }, 'command failed');
        return {
          ...failed(`/${name} failed: ${textOf(thrown)}`),
          ...(thrown instanceof AppError && { code: thrown.code }),
        };
      }
    },
    names: () => [...commands.keys()].sort(),
    get: (name) => commands.get(name),
    has: (name) => commands.has(name),
  };
}

const failed = (output: string): CommandResult => ({ output, isError: true });
