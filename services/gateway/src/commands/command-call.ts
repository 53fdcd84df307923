import { AppError } from '@harness/contracts';
import type {
  Command,
  CommandAnswer,
  CommandContext,
  CommandRegistry,
  CommandResult,
  Diagnostic,
  Principal,
} from '@harness/plugin-kit';
import type { Skill } from '@harness/plugins';
import { type Caller, requireScope } from '../http/authenticate.ts';
import type { Scope } from '../http/scopes.ts';

/** A command as it is listed. */
export type CommandDescription = Pick<Command, 'name' | 'description' | 'group' | 'argumentHint'>;

/** The commands of a gateway. */
export interface Commands {
  /** Built-in ones, then skills, then plugins; by name within each. */
  list(): CommandDescription[];
  /** Whether the skill has a command `/<name>`. */
  isSkillCommand(skill: Skill): boolean;
  /** Skills that ask for a command whose name another one has. */
  diagnostics(): readonly Diagnostic[];
  /** Throws `thread_not_found`. An unknown command, or one that fails, is a result with `isError`. */
  run(caller: Caller, threadId: string, line: string): Promise<CommandResult>;
}

/** In the order in which they are listed. */
const groups = ['built-in', 'skill', 'plugin'] as const;

/** All commands, by group and by name within each. */
export function commandsByGroup(registry: CommandRegistry): [(typeof groups)[number], Command[]][] {
  const all = registry.names().flatMap((name) => registry.get(name) ?? []);
  return groups.map((wanted) => [wanted, all.filter(({ group }) => group === wanted)]);
}

/** A built-in command's group is always the same. */
export const builtIn = (command: Omit<Command, 'group'>): Command => ({ ...command, group: 'built-in' });

/** Not done, and why. */
export const refused = (output: string): CommandAnswer => ({ output, isError: true });

/** On which thread, and for whom. Throws `forbidden` where the caller lacks the scope. */
export function callOf(
  { threadId, principal }: CommandContext,
  scope: Scope = 'threads',
): { threadId: string; tenant: string; principal: Principal } {
  if (threadId === undefined || principal === undefined)
    throw new AppError('invalid_request', 'it is for a thread, and there is none here');
  requireScope({ principal }, scope);
  return { threadId, tenant: principal.tenant, principal };
}

/** Lines of two columns. */
export function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd()).join('\n');
}
