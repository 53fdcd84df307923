/**
 * The server behind the proxies: MCP 2025-11-25 without an SDK, so that a call costs next to nothing here.
 * `echo-upstream.ts http <tools>` serves Streamable HTTP with JSON and no sessions; `sse <tools>` the same with a stream for each
 * response, as the SDK's servers do by default; `stdio <tools>` reads and writes lines.
 *
 * This folder:
 *   mcp-proxy.ts    the proxy `mcp-proxy`
 *   supergateway.ts the proxy `supergateway`
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { echoDescription, echoed, echoNames, echoSchema } from '../../mcp/echo-tools.ts';

interface Message {
  id?: number;
  method: string;
  params: { arguments: { text: string; n: number } };
}

const [kind, count] = [process.argv[2], Number(process.argv[3])];
const tools = echoNames(count).map((name) => ({
  name,
  description: echoDescription,
  inputSchema: echoSchema,
}));
const methods: Record<string, (params: Message['params']) => object> = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'echo', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: input }) => ({ content: [{ type: 'text', text: echoed(input) }] }),
};

/** The response as JSON; undefined for a notification. */
function responseTo(text: string): string | undefined {
  const { id, method, params } = JSON.parse(text) as Message;
  if (id === undefined) return undefined;
  const respond = methods[method];
  const outcome = respond
    ? { result: respond(params) }
    : { error: { code: -32601, message: `There is no method ${method}.` } };
  return JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
}

if (kind === 'stdio') {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const response = responseTo(line);
    if (response !== undefined) process.stdout.write(`${response}\n`);
  });
} else {
  const http = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.once('end', () => {
      const body = responseTo(Buffer.concat(chunks).toString('utf8'));
      if (body === undefined) return void response.writeHead(202).end();
      if (kind === 'sse')
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`event: message\ndata: ${body}\n\n`);
      else response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
  });
  http.listen(0, '127.0.0.1', () => {
    process.send?.({ ready: true, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` });
  });
}
