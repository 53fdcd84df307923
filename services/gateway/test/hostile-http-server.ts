/** An MCP server of the 2025 era over HTTP that misbehaves in the body of the response to a tool call. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** Writes the body of the response to a tool call; the head is not sent yet. */
export type Misbehave = (response: ServerResponse, call: { id: number }) => unknown;

const resultOf = (method: string, { protocolVersion }: { protocolVersion?: string } = {}) =>
  ({
    initialize: { protocolVersion, serverInfo: { name: 'http', version: '1' }, capabilities: { tools: {} } },
    'tools/list': {
      tools: [
        { name: 'say', inputSchema: { type: 'object' } },
        { name: 'misbehave', inputSchema: {} },
      ],
    },
    'tools/call': { content: [{ type: 'text', text: 'said' }] },
  })[method];

/** Starts it on a port of its own; its tools are `say` and `misbehave`. Returns its URL. */
export async function openHostileHttp(misbehave: Misbehave): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method, params } = (await json(request)) as {
      id: number;
      method: string;
      params?: { name?: string };
    };
    // It does not take answers to what it asks.
    if (id !== undefined && method === undefined) return;
    if (id === undefined) return response.writeHead(202).end();
    if (params?.name === 'misbehave') return misbehave(response, { id });
    const result = resultOf(method, params as object);
    const error = { code: -32601, message: `no ${method}` };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}
