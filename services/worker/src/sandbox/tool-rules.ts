import { builtInNameOf } from '@harness/contracts';

/** Where one command of a shell ends and another begins; what hides one inside another, or gives its name to another, is never permitted by a pattern. */
const separators = /&&|\|\||[;|&\n]/;
const hidden = /[`]|\$[([]|\$\{(?!\w+\})|[<>]\(|\(\s*\)/;
/** Of standard error to standard output: no separator. */
const joined = /\d>&\d(?=\s|$)/g;

/** A call of a built-in tool. */
export interface BuiltInCall {
  tool: string;
  input: unknown;
  /** A command in the instructions of a skill, of which the agent knows nothing. */
  isEmbedded?: boolean;
}

/**
 * Why a call of a built-in tool is not permitted by the tools that the run has now; undefined = it is. The agent itself checks the
 * patterns of the tools that its session began with; this is for those that a skill or a key has narrowed since.
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
  // Patterns of paths are known to the agent alone, which has only those of its start.
  if (call.tool !== 'Bash' || typeof command !== 'string')
    return `The tool ${call.tool} was narrowed to ${rules.join(', ')} in the middle of this run, which is only possible without a pattern.`;
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
  const escaped = (part: string) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return prefix === undefined
    ? new RegExp(`^${text.split('*').map(escaped).join('.*')}$`, 's')
    : new RegExp(`^${escaped(prefix)}(\\s|$)`, 's');
}
