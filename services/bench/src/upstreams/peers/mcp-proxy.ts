/**
 * mcp-proxy by its documented functions, in its cheapest mode (JSON, nothing stored for a reconnect): a session of a client is a
 * server of its own, and all share one client of the upstream, as with its command, which knows only stdio upstreams.
 * `mcp-proxy.ts http <url>`, or `mcp-proxy.ts stdio <command> <arguments…>`.
 */

import { freePort } from '@harness/runtime';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Server } from '@modelcontextprotocol/server';
import { proxyServer, startHTTPServer } from 'mcp-proxy';

const [kind, target = '', ...args] = process.argv.slice(2);
const client = new Client({ name: 'mcp-proxy', version: '1' });
await client.connect(
  kind === 'http'
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args }),
);
const serverCapabilities = client.getServerCapabilities() ?? {};

const port = await freePort();
await startHTTPServer({
  createServer: async () => {
    const server = new Server({ name: 'mcp-proxy', version: '1' }, { capabilities: serverCapabilities });
    await proxyServer({ client, server, serverCapabilities });
    return server;
  },
  enableJsonResponse: true,
  eventStore: false,
  host: '127.0.0.1',
  port,
});
process.send?.({ ready: true, url: `http://127.0.0.1:${port}` });
