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
  if (mode === 'auto' && !asks) return undefined;
  const ofRun = thread.runTools === undefined ? undefined : (JSON.parse(thread.runTools) as string[]);
  return builtInToolsIn(ofRun ?? thread.allowedTools);
}
