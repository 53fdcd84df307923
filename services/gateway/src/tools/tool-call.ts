import type { Given, PluginToolMeta } from '@harness/plugin-kit';

/** A call of a tool as REST or MCP brings it. */
export interface ToolCall extends Given<PluginToolMeta> {
  name: string;
  door: 'mcp' | 'rest';
  arguments: unknown;
  /** A thread the caller names; only for keys, whose tenant must own it. */
  threadId?: string | undefined;
}
