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
import { type Caller, requireScope } from '../http/credentials/authenticate.ts';
import type { Scope } from '../http/credentials/scopes.ts';

/** A command as lists show it. */
export type CommandDescription = Pick<Command, 'name' | 'description' | 'group' | 'argumentHint'>;

/** The commands of a gateway. */
export interface Commands {
  /** Built-in commands, then those of skills, then those of plugins; by name within each group. */
  list(tenant: string): CommandDescription[];
  /** Whether the skill has a command `/<name>`. */
  isSkillCommand(skill: Skill): boolean;
  /** Skills without a command because its name is taken. */
  diagnostics(): readonly Diagnostic[];
  /** The command that a line names, e.g. `/model`; undefined if the tenant is offered none of that name. */
  nameIn(tenant: string, line: string): string | undefined;
  /**
   * Runs a command line on a thread. An unknown or failed command is a result with `isError`. Throws
   * `thread_not_found`.
   */
  run(caller: Caller, threadId: string, line: string): Promise<CommandResult>;
}

/** In list order. */
const groups = ['built-in', 'skill', 'plugin'] as const;

/** Returns the commands that a tenant is offered, by group and by name within each. */
export function commandsByGroup(
  registry: CommandRegistry,
  tenant: string,
): [(typeof groups)[number], Command[]][] {
  const all = registry
    .names()
    .flatMap((name) => registry.get(name) ?? [])
    .filter(({ isFor }) => isFor?.(tenant) !== false);
  return groups.map((wanted) => [wanted, all.filter(({ group }) => group === wanted)]);
}

/** Adds the group to a built-in command. */
export const builtIn = (command: Omit<Command, 'group'>): Command => ({ ...command, group: 'built-in' });

/** The result of a command that was refused; `output` has the reason. */
export const refused = (output: string): CommandAnswer => ({ output, isError: true });

/**
 * Returns the thread and the caller of a command. Throws `forbidden` if the caller lacks the scope, and
 * `invalid_request` without a thread.
 */
export function callOf(
  { threadId, principal }: CommandContext,
  scope: Scope = 'threads',
): { threadId: string; tenant: string; principal: Principal } {
  if (threadId === undefined || principal === undefined)
    throw new AppError('invalid_request', 'the command needs a thread, and this call has none');
  requireScope({ principal }, scope);
  return { threadId, tenant: principal.tenant, principal };
}

/** Formats rows of two columns as text. */
export function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd()).join('\n');
}

/** Width of a brief table, characters: what most terminals have. */
const briefWidth = 80;
const leastRight = 30;

/** The same with one line for each row: a description that is too long for it is cut. */
export function briefTable(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  const room = Math.max(leastRight, briefWidth - width - 5);
  return table(rows.map(([left, right]) => [left, beginningOf(right, room)]));
}

function beginningOf(text: string, chars: number): string {
  const [line = ''] = text.split('\n', 1);
  return line.length <= chars && line.length === text.length
    ? line
    : `${line.slice(0, chars - 1).trimEnd()}…`;
}
