import type { Given, PluginToolMeta } from '@harness/plugin-kit';

/** A tool call, from REST or MCP. */
export interface ToolCall extends Given<PluginToolMeta> {
  name: string;
  /** The transport of the call. */
  door: 'mcp' | 'rest';
  arguments: unknown;
  /** A thread that the caller names; ignored for sessions. The caller's tenant must own it. */
  threadId?: string | undefined;
}
