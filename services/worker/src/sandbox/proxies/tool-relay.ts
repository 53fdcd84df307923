import type { McpSdkServerConfigWithInstance } from '@anthropic-ai/claude-agent-sdk';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

import type {
  JSONRPCMessage,
  JSONRPCRequest,
  JSONRPCResultResponse,
} from '@modelcontextprotocol/sdk/types.js';
import type { McpEndpoint } from '../../session/mcp-endpoint.ts';

/** JSON-RPC's code for a server that failed. */
const internalError = -32603;

/** Most messages in progress at the same time: a hostile session must not use up the worker's time and connections. */
export const mostAtOnce = 64;

/** Changes the result of a tool before the session gets it. If it rejects, the session gets the result unchanged. */
export type FinishResult = (
  call: { name: string; input: Record<string, unknown> },
  result: JSONRPCResultResponse['result'],
) => Promise<JSONRPCResultResponse['result']>;

/**
 * Creates an MCP server for the Agent SDK that only passes messages between the session and the gateway, so that a session
 * without a network reaches its tools and its token stays in the worker. Beyond `mostAtOnce`, requests are refused and other
 * messages dropped.
 */
export function createToolRelay(
  { url, token }: McpEndpoint,
  finish?: FinishResult,
): McpSdkServerConfigWithInstance['instance'] {
  let remote: StreamableHTTPClientTransport | undefined;
  const relay = {
    async connect(session: Transport): Promise<void> {
      const gateway = new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
      });
      remote = gateway;
      let initializing: string | number | undefined;
      let isInitialized = false;
      /** Requests without a response, by id, and how many other messages are being sent. */
      const waiting = new Map<string | number, JSONRPCRequest>();
      let sending = 0;
      const answer = (message: JSONRPCMessage) => void session.send(message).catch(() => undefined); // the session has ended
      const fail = (id: string | number, reason: string) => {
        const failure = { code: internalError, message: `The tool server did not respond: ${reason}` };
        answer({ jsonrpc: '2.0', id, error: failure });
      };
      gateway.onmessage = (message) => {
        if ('result' in message && message.id === initializing)
          gateway.setProtocolVersion(String(message.result.protocolVersion));
        const id = 'method' in message ? undefined : message.id;
        const called = id === undefined ? undefined : callOf(waiting.get(id));
        if (id === undefined || !called || !finish || !('result' in message)) {
          if (id !== undefined) waiting.delete(id);
          return answer(message);
        }
        void finish(called, message.result)
          .catch(() => message.result)
          .then((result) => {
            waiting.delete(id);
            answer({ ...message, result });
          });
      };
      const sendRequest = (message: JSONRPCRequest) => {
        const { id, method } = message;
        if (waiting.has(id)) return; // a duplicate: the first request with this id gets the response
        if (waiting.size + sending >= mostAtOnce)
          return fail(id, `more than ${mostAtOnce} requests at the same time.`);
        if (method === 'initialize') initializing = id;
        waiting.set(id, message);
        gateway.send(message).catch((error: unknown) => {
          waiting.delete(id);
          fail(id, error instanceof Error ? error.message : String(error));
        });
      };
      session.onmessage = (message: JSONRPCMessage) => {
        if ('method' in message && 'id' in message) return sendRequest(message);
        // Each one opens a stream at the gateway.
        const opens = 'method' in message && message.method === 'notifications/initialized';
        if (waiting.size + sending >= mostAtOnce || (opens && isInitialized)) return;
        isInitialized ||= opens;
        sending++;
        gateway
          .send(message)
          .catch(() => undefined)
          .finally(() => sending--);
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

/** The call of a tool that a request is. What a session sends may have any shape. */
function callOf(request: JSONRPCRequest | undefined): Parameters<FinishResult>[0] | undefined {
  const { name, arguments: input } = request?.method === 'tools/call' ? (request.params ?? {}) : {};
  if (typeof name !== 'string') return undefined;
  return { name, input: typeof input === 'object' && input !== null ? { ...input } : {} };
}
