import type { Given, PluginToolMeta } from '@harness/plugin-kit';

/** A tool call, from REST or MCP. */
export interface ToolCall extends Given<PluginToolMeta> {
  name: string;
  /** The transport of the call; `bus`: a REST route of the bus. */
  door: 'mcp' | 'rest' | 'bus';
  arguments: unknown;
  /** A thread that the caller names; ignored for sessions. The caller's tenant must own it. */
  threadId?: string | undefined;
}
