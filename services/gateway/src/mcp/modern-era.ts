import type { Logger } from '@harness/runtime';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type CallToolResult,
  createMcpHandler,
  ProtocolError,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import type { Caller } from '../auth.ts';
import type { ToolCalls } from '../tool-calls.ts';
import { callFromMcp, capabilities, faultOf, serverInfo } from './mcp-door.ts';

/** How long clients may keep a list, ms; it changes only with a restart so far. */
const listTtlMs = 60_000;

/** MCP 2026-07-28: stateless by design; one handler per process. The caller travels as `authInfo`. */
export function createModernEra(tools: ToolCalls, logger: Logger) {
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const caller = authInfo?.extra?.caller as Caller;
      const server = new Server(serverInfo, {
        capabilities,
        cacheHints: { 'tools/list': { ttlMs: listTtlMs, cacheScope: 'private' } },
      });
      server.setRequestHandler('tools/list', () => ({ tools: tools.list(caller) as unknown as Tool[] }));
      server.setRequestHandler('tools/call', async ({ params }, ctx) => {
        const live = { signal: ctx.mcpReq.signal, send: ctx.mcpReq.notify };
        try {
          return (await callFromMcp(tools, caller, params, live)) as CallToolResult;
        } catch (thrown) {
          const { code, message, data } = faultOf(thrown);
          throw new ProtocolError(code, message, data);
        }
      });
      return server;
    },
    { legacy: 'reject', onerror: (error) => logger.debug({ err: error }, 'mcp: request refused') },
  );
  const node = toNodeHandler(handler, {
    onerror: (error) => logger.error({ err: error }, 'mcp: request failed'),
  });
  return { node, close: handler.close };
}
