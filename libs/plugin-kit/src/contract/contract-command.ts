/** Slash commands, as those see them who write one. */
import type { MaybePromise, PluginContext, Principal } from './contract.ts';

/** A command that a plugin brings. People type it; text for the model is never looked at for one. */
export interface PluginCommand {
  /** Without the slash: `^[a-z0-9][a-z0-9-]{0,63}$`. A name belongs to the first that has it, and built-in ones come first. */
  name: string;
  /** One line. */
  description: string;
  /** What may follow the name, e.g. `<city>`. */
  argumentHint?: string;
  /** Runs in the gateway. `args` is what follows the name, trimmed. A throw becomes an error that the person reads. */
  execute(args: string, context: CommandContext, ctx: PluginContext): MaybePromise<CommandOutput>;
}

/** What a command may know of where it was typed. */
export interface CommandContext {
  threadId: string | undefined;
  activeAgent: string | undefined;
  activeSkill: string | undefined;
  model: string | undefined;
  /** Those that the caller sees. */
  toolNames: readonly string[];
  skillNames: readonly string[];
  agentNames: readonly string[];
  /** Who typed it, where that is known. */
  principal?: Principal | undefined;
}

/** A string is short for its output. */
export type CommandOutput = string | CommandAnswer;

export interface CommandAnswer {
  /** Plain text for a person. */
  output: string;
  /** It was not done; the output says why. */
  isError?: boolean;
  /** For whoever shows it: leave; go on in a new thread. */
  action?: 'quit' | 'clear';
  /** The run that it began on the thread. */
  runId?: string;
}
