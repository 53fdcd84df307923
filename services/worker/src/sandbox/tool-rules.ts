import { builtInNameOf } from '@harness/contracts';

/** Separators of shell commands. */
const separators = /&&|\|\||[;|&\n]/;
/** Syntax that hides a command inside another one, or defines one: no pattern permits it. */
const hidden = /[`]|\$[([]|\$\{(?!\w+\})|[<>]\(|\(\s*\)/;
/** Redirections such as `2>&1`, whose `&` is no separator. */
const joined = /\d>&\d(?=\s|$)/g;

/** A call of a built-in tool. */
export interface BuiltInCall {
  tool: string;
  input: unknown;
  /** A command in the instructions of a skill: the agent has not checked it. */
  isEmbedded?: boolean;
}

/**
 * Why the run's current tools (`now`) do not permit a call of a built-in tool; undefined = they do. The agent itself checks the
 * patterns with which its session began (`atStart`); this checks patterns that a skill or a key has narrowed since.
 */
export function refusalOf(
  call: BuiltInCall,
  now: readonly string[],
  atStart: readonly string[],
): string | undefined {
  const rules = now.filter((name) => builtInNameOf(name) === call.tool);
  if (rules.length === 0) return `The tool ${call.tool} is not allowed in this run.`;
  if (rules.includes(call.tool)) return undefined;
  if (!call.isEmbedded && rules.every((rule) => atStart.includes(rule))) return undefined;
  const { command } = (call.input ?? {}) as { command?: unknown };
  // Only the agent can match patterns of paths, and it has only those with which it began.
  if (call.tool !== 'Bash' || typeof command !== 'string')
    return `The tool ${call.tool} was narrowed to ${rules.join(', ')} during this run, and its pattern cannot be checked any more. Use another tool.`;
  const patterns = rules.map(patternOf);
  const parts = command
    .replaceAll(joined, '')
    .split(separators)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (!hidden.test(command) && parts.every((part) => patterns.some((pattern) => pattern.test(part))))
    return undefined;
  return `Of the shell only ${rules.join(', ')} is allowed in this run.`;
}

/** `Bash(git:*)`: commands that begin with the word; `Bash(npm run *)`: a wildcard; else the command itself. */
function patternOf(rule: string): RegExp {
  const text = /\((.*)\)$/s.exec(rule)?.[1] ?? '';
  const [, prefix] = /^(.*):\*$/s.exec(text) ?? [];
  return prefix === undefined
    ? new RegExp(`^${text.split('*').map(RegExp.escape).join('.*')}$`, 's')
    : new RegExp(`^${RegExp.escape(prefix)}(\\s|$)`, 's');
}
