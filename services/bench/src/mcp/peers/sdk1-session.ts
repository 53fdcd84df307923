/** SDK 1.x as documented for sessions: one server and one transport per session, in memory. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { z } from 'zod';
import { echoDescription, echoed, echoNames } from '../echo-tools.ts';

const count = Number(process.argv[2]);
const inputSchema = {
  text: z.string().min(1).max(1000).describe('Text to repeat'),
  n: z.number().int().min(0).max(1000).describe('A number to carry along'),
};
const sessions = new Map<string, StreamableHTTPServerTransport>();

function createEchoServer(): McpServer {
  const server = new McpServer({ name: 'sdk1', version: '1' });
  for (const name of echoNames(count))
    server.registerTool(name, { description: echoDescription, inputSchema }, (input) => ({
      content: [{ type: 'text', text: echoed(input) }],
    }));
  return server;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

const http = createServer(async (request, response) => {
  const body = await bodyOf(request);
  const known = sessions.get(String(request.headers['mcp-session-id']));
  if (known) return known.handleRequest(request, response, body);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await createEchoServer().connect(transport as Transport);
  await transport.handleRequest(request, response, body);
});
http.listen(0, '127.0.0.1', () => {
  process.send?.({ ready: true, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` });
});
