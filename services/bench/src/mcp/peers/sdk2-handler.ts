/** SDK 2 as documented: createMcpHandler, with a factory that registers every tool for each request. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { echoDescription, echoed, echoNames } from '../echo-tools.ts';

const count = Number(process.argv[2]);
const inputSchema = z.object({
  text: z.string().min(1).max(1000).describe('Text to repeat'),
  n: z.number().int().min(0).max(1000).describe('A number to carry along'),
});
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'sdk2', version: '1' });
  for (const name of echoNames(count))
    server.registerTool(name, { description: echoDescription, inputSchema }, (input) => ({
      content: [{ type: 'text', text: echoed(input) }],
    }));
  return server;
});
const node = toNodeHandler(handler);
const http = createServer((request, response) => void node(request as Parameters<typeof node>[0], response));
http.listen(0, '127.0.0.1', () => {
  process.send?.({ ready: true, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` });
});
