import type { McpSdkServerConfigWithInstance } from '@anthropic-ai/claude-agent-sdk';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { McpEndpoint } from '../../session/mcp-endpoint.ts';

/** JSON-RPC's code for a server that failed. */
const internalError = -32603;

/**
 * Creates what the Agent SDK takes for an MCP server in this process: it passes every message to the gateway and back, so that a
 * session without a network reaches its tools, and its token stays in the worker.
 */
export function createToolRelay({ url, token }: McpEndpoint): McpSdkServerConfigWithInstance['instance'] {
  let remote: StreamableHTTPClientTransport | undefined;
  const relay = {
    async connect(session: Transport): Promise<void> {
      const gateway = new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
      });
      remote = gateway;
      let initializing: string | number | undefined;
      gateway.onmessage = (message) => {
        if ('result' in message && message.id === initializing)
          gateway.setProtocolVersion(String(message.result.protocolVersion));
        void session.send(message).catch(() => undefined); // the session has ended
      };
      session.onmessage = (message: JSONRPCMessage) => {
        if ('method' in message && message.method === 'initialize' && 'id' in message)
          initializing = message.id;
        gateway.send(message).catch((error: unknown) => {
          if (!('method' in message && 'id' in message)) return;
          const reason = error instanceof Error ? error.message : String(error);
          const failure = { code: internalError, message: `The tool server did not respond: ${reason}` };
          return session.send({ jsonrpc: '2.0', id: message.id, error: failure }).catch(() => undefined);
        });
      };
      session.onclose = () => void gateway.close();
      await gateway.start();
      await session.start();
    },
    async close(): Promise<void> {
      await remote?.close();
    },
  };
  // The SDK only connects and closes it; the type wants a whole McpServer.
  return relay as unknown as McpSdkServerConfigWithInstance['instance'];
}
