import type { Given, PluginToolMeta } from '@harness/plugin-kit';

/** How a request came over MCP. */
export interface McpWire {
  protocolVersion: string;
  sessionId?: string | undefined;
}

/** A tool call, from REST or MCP. */
export interface ToolCall extends Given<PluginToolMeta> {
  name: string;
  /** The transport of the call; `bus`: a REST route of the bus. */
  transport: 'mcp' | 'rest' | 'bus';
  arguments: unknown;
  /** How it came over MCP, for traces. */
  wire?: McpWire | undefined;
  /** A thread that the caller names; ignored for sessions. The caller's tenant must own it. */
  threadId?: string | undefined;
}
