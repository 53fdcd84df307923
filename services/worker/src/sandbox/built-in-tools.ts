import type { HeldThread } from '@harness/dispatch';

/** Built-in tools of the Agent SDK that a sandbox offers. */
export const builtInTools = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash'] as const;

/** Where threads have workspaces. `auto`: where a thread, its agent, its skill or its task asks. */
export type WorkspaceMode = 'off' | 'auto' | 'on';

const baseOf = (name: string) => /^([A-Z][A-Za-z]*)(\(.*\))?$/s.exec(name)?.[1] ?? '';
const isBuiltIn = (name: string) => (builtInTools as readonly string[]).includes(baseOf(name));

/** Names of built-in tools in a list of tools, also with a pattern: `Bash(git:*)`. A wildcard stands for all of its names. */
export function builtInToolsIn(tools: readonly string[] | undefined): string[] {
  if (tools === undefined || tools.includes('*')) return [...builtInTools];
  const wild = tools.filter((name) => /^[A-Z][A-Za-z]*\*$/.test(name)).map((name) => name.slice(0, -1));
  const named = tools.filter(isBuiltIn);
  return [
    ...new Set([...named, ...builtInTools.filter((name) => wild.some((start) => name.startsWith(start)))]),
  ].sort();
}

/**
 * The built-in tools of a thread's session; undefined: it has no workspace. A thread asks for one, or a list of tools that counts
 * for it names a built-in tool.
 */
export function builtInToolsOf(
  thread: Pick<HeldThread, 'allowedTools' | 'runTools'> & { workspace?: boolean | undefined },
  mode: WorkspaceMode,
): string[] | undefined {
  if (mode === 'off' || thread.workspace === false) return undefined;
  const asks = thread.workspace === true || (thread.allowedTools?.some(isBuiltIn) ?? false);
  return mode === 'auto' && !asks ? undefined : builtInToolsAtStart(thread);
}

/** The built-in tools with which a run begins. */
export function builtInToolsAtStart({
  allowedTools,
  runTools,
}: Pick<HeldThread, 'allowedTools' | 'runTools'>): string[] {
  return builtInToolsIn(runTools === undefined ? allowedTools : (JSON.parse(runTools) as string[]));
}

/** Where one command of a shell ends and another begins; what hides one inside another is never permitted by a pattern. */
const separators = /&&|\|\||[;|&\n]/;
const hidden = /[`]|\$\(|[<>]\(/;

/**
 * Why a call of a built-in tool is not permitted by the tools that the run has now; undefined = it is. The agent itself checks the
 * patterns of the tools that its session began with; this is for those that a skill or a key has narrowed since.
 */
export function refusalOf(
  call: { tool: string; input: unknown },
  now: readonly string[],
  atStart: readonly string[],
): string | undefined {
  const rules = now.filter((name) => baseOf(name) === call.tool);
  if (rules.length === 0) return `The tool ${call.tool} is not allowed in this run.`;
  if (rules.every((rule) => atStart.includes(rule)) || rules.includes(call.tool)) return undefined;
  const { command } = (call.input ?? {}) as { command?: unknown };
  if (call.tool !== 'Bash' || typeof command !== 'string') return undefined;
  const patterns = rules.map(patternOf);
  const parts = command
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
