import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  CancelledNotificationSchema,
  ListToolsRequestSchema,
  type ListToolsResult,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import type { Caller } from '../auth.ts';
import type { ToolCalls } from '../tool-calls.ts';
import type { LegacyCancels } from './legacy-cancels.ts';
import { callFromMcp, capabilities, faultOf, serverInfo } from './mcp-door.ts';

/**
 * The 2025-era protocol, stateless: a server and a transport per request, no session id, so that any gateway answers
 * any request.
 */
export async function serveLegacy(
  { tools, cancels }: { tools: ToolCalls; cancels: LegacyCancels },
  caller: Caller,
  http: { request: IncomingMessage; response: ServerResponse; body: unknown },
): Promise<void> {
  const server = new Server(serverInfo, { capabilities });
  server.setRequestHandler(
    ListToolsRequestSchema,
    () => ({ tools: tools.list(caller) }) as unknown as ListToolsResult,
  );
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { requestId, signal, sendNotification: send } = extra;
    try {
      const result = await cancels.during({ caller, requestId, signal }, (either) =>
        callFromMcp(tools, caller, params, { signal: either, send }),
      );
      return result as CallToolResult;
    } catch (thrown) {
      const { code, message, data } = faultOf(thrown);
      throw new McpError(code, message, data);
    }
  });
  server.setNotificationHandler(CancelledNotificationSchema, ({ params }) =>
    cancels.cancel(caller, params.requestId),
  );
  const transport = new StreamableHTTPServerTransport({});
  http.response.once('close', () => void server.close());
  await server.connect(transport as Transport);
  await transport.handleRequest(http.request, http.response, http.body);
}
