/** Slash commands of plugins: what an author declares, and what a command returns. */
import type { PluginContext } from './contract-context.ts';
import type { Principal } from './contract-request.ts';
import type { MaybePromise } from './contract-values.ts';

/**
 * A slash command of a plugin. People type it; text that a model reads or writes is never parsed for commands.
 *
 * @example
 * ```ts
 * const weather = defineCommand({
 *   name: 'weather',
 *   description: 'Tomorrow’s weather',
 *   argumentHint: '<city>',
 *   execute: (args, _context, ctx) => ctx.invoker.invoke(`Tomorrow’s weather in ${args}?`),
 * });
 * ```
 */
export interface PluginCommand {
  /**
   * Without the slash: `^[a-z0-9][a-z0-9-]{0,63}$`. When two commands have the same name, the first one registered
   * keeps it. The gateway's own commands are registered before those of plugins.
   */
  name: string;
  /** One line. */
  description: string;
  /** Placeholder for the arguments, e.g. `<city>`. */
  argumentHint?: string;
  /**
   * Runs in the gateway, for at most 60 s. `args` is the text after the name, trimmed. A thrown error becomes an error
   * result that the person reads.
   */
  execute(args: string, context: CommandContext, ctx: PluginContext): MaybePromise<CommandOutput>;
}

/**
 * Where a command was typed, and what its caller can use there.
 *
 * @example
 * ```ts
 * const where = defineCommand({
 *   name: 'where',
 *   description: 'The current thread',
 *   execute: (_args, { threadId }) => threadId ?? 'No thread yet.',
 * });
 * ```
 */
export interface CommandContext {
  threadId: string | undefined;
  activeAgent: string | undefined;
  activeSkill: string | undefined;
  model: string | undefined;
  /** Qualified names of the tools that the caller sees. */
  toolNames: readonly string[];
  skillNames: readonly string[];
  agentNames: readonly string[];
  /** The caller, where it is known. */
  principal?: Principal | undefined;
}

/**
 * What a command returns. A string is short for `{output: string}`.
 *
 * @example
 * ```ts
 * const output: CommandOutput = { output: 'Good bye.', action: 'quit' };
 * ```
 */
export type CommandOutput = string | CommandAnswer;

/**
 * The result of a command.
 *
 * @example
 * ```ts
 * const refusal: CommandAnswer = { output: 'Name a city.', isError: true };
 * ```
 */
export interface CommandAnswer {
  /** Plain text for a person. At most 100 000 characters; the rest is cut. */
  output: string;
  /** True: the command was not carried out; `output` has the reason. */
  isError?: boolean;
  /** For the client that shows the result: `quit` = end the chat; `clear` = continue in a new thread. */
  action?: 'quit' | 'clear';
  /** The run that the command started on the thread. */
  runId?: string;
}
