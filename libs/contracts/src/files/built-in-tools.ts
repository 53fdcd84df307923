/** Built-in tools of the Agent SDK that a sandbox offers. */
export const builtInTools = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash'] as const;

/** The tools of a thread. */
export interface ToolsOfThread {
  /** Those that the thread, its agent and its skill all allow; undefined = all. */
  allowedTools: readonly string[] | undefined;
  /** Those of the run (JSON text) where a key or a skill narrowed them. */
  runTools?: string | undefined;
}

/** Where threads have workspaces. `auto`: where a thread, its agent, its skill or its task asks. */
export type WorkspaceMode = 'off' | 'auto' | 'on';

/** The tool of a name that may have a pattern: `Bash` of `Bash(git:*)`; '' = a tool of the gateway. */
export const builtInNameOf = (name: string) => /^([A-Z][A-Za-z]*)(\(.*\))?$/s.exec(name)?.[1] ?? '';
/** Whether a name is that of a built-in tool, also with a pattern. */
export const isBuiltIn = (name: string) => (builtInTools as readonly string[]).includes(builtInNameOf(name));

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
 * The built-in tools of a thread's session; undefined: it has no workspace. In mode `auto` a thread has one if its `workspace`
 * is true or if its allowed tools name a built-in tool.
 */
export function builtInToolsOf(
  thread: ToolsOfThread & { workspace?: boolean | null | undefined },
  mode: WorkspaceMode,
): string[] | undefined {
  if (mode === 'off' || thread.workspace === false) return undefined;
  const asks = thread.workspace === true || (thread.allowedTools?.some(isBuiltIn) ?? false);
  return mode === 'auto' && !asks ? undefined : builtInToolsAtStart(thread);
}

/** The built-in tools with which a run begins. */
export function builtInToolsAtStart({ allowedTools, runTools }: ToolsOfThread): string[] {
  return builtInToolsIn(runTools === undefined ? allowedTools : (JSON.parse(runTools) as string[]));
}
