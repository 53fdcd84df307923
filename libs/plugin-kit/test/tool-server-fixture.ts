import { expect } from 'vitest';
import type { PluginTool } from '../src/contract/contract.ts';
import { collectTools } from '../src/host/collect.ts';
import { createToolServer, type ToolServerDeps } from '../src/tools/tool-server.ts';

/** A minimal meta. */
export const meta = { threadId: 't1' };
/** A tool that returns `done`, with these parts. */
export const toolOf = (parts: Partial<PluginTool> = {}): PluginTool => ({
  name: 'tool',
  description: 'A tool.',
  schema: {},
  handler: () => 'done',
  ...parts,
});
/** A plugin with these tools. */
export const pluginOf = (name: string, ...tools: PluginTool[]) => ({
  name,
  version: '1',
  register: () => undefined,
  tools,
});
/** The server of a plugin `p` with these tools. */
export function serverOf(tools: PluginTool[], deps?: ToolServerDeps) {
  const server = createToolServer(collectTools([pluginOf('p', ...tools)]), deps);
  if (!server) throw new Error('no tools');
  return server;
}
/** Calls a tool with these parts. */
export const callTool = (parts: Partial<PluginTool>, input: unknown = {}) =>
  serverOf([toolOf(parts)]).call('p__tool', { input, meta });
/** Matches the result of a failed call. */
export const failure = (code: string, text = '') => ({
  isError: true,
  content: [{ type: 'text', text: expect.stringContaining(text) }],
  _meta: { 'harness/error': expect.objectContaining({ code }) },
});
