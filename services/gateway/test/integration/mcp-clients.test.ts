/** Third-party MCP clients, unmodified, with an API key: each lists the tools and calls one, in its own era. */
import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, Server } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createMCPClient } from '@ai-sdk/mcp';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, keyFor, openGateway, probe } from '../fixture.ts';

const key = 'a-key-of-a-client';
const headers = bearer(key);
const header = `Authorization: ${headers.authorization}`;
const { resolve } = createRequire(import.meta.url);
const fileOf = (name: string, path: string) =>
  join(resolve(`${name}/package.json`).replace(/package\.json$/, ''), path);

interface Outside {
  list(): Promise<string[]>;
  /** Calls probe__strict with this number; returns the text of its result. */
  call(n: number | string): Promise<string>;
}

interface Called {
  content: { text?: string }[];
}
const textOf = (called: unknown) => (called as Called).content[0]?.text ?? '';
const namesOf = ({ tools }: { tools: { name: string }[] }) => tools.map(({ name }) => name);

/** The protocol versions in the headers of requests to the server. */
function watchVersions(server: Server): Set<string> {
  const seen = new Set<string>();
  const look = (message: unknown) => {
    const { request, server: at } = message as { request: IncomingMessage; server: Server };
    const version = request.headers['mcp-protocol-version'];
    if (at === server && typeof version === 'string') seen.add(version);
  };
  subscribe('http.server.request.start', look);
  onTestFinished(() => void unsubscribe('http.server.request.start', look));
  return seen;
}

/** A separate home folder, and nothing of this machine's environment. */
async function openHome(): Promise<Record<string, string>> {
  const home = await mkdtemp(join(tmpdir(), 'mcp-client-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return { PATH: process.env.PATH ?? '', HOME: home, MCP_REMOTE_CONFIG_DIR: home };
}

async function connectOld(transport: Transport): Promise<Outside> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    list: async () => namesOf(await client.listTools()),
    call: async (n) => textOf(await client.callTool({ name: 'probe__strict', arguments: { n } })),
  };
}

async function connectNew(url: URL, mode?: 'auto'): Promise<Outside> {
  const client = new ModernClient(
    { name: 'test', version: '1' },
    mode ? { versionNegotiation: { mode } } : {},
  );
  await client.connect(new ModernTransport(url, { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return {
    list: async () => namesOf(await client.listTools()),
    call: async (n) => textOf(await client.callTool({ name: 'probe__strict', arguments: { n } })),
  };
}

async function connectAiSdk(url: URL): Promise<Outside> {
  const client = await createMCPClient({ transport: { type: 'http', url: url.href, headers } });
  onTestFinished(() => client.close());
  const tools = await client.tools();
  return {
    list: async () => Object.keys(tools),
    call: async (n) =>
      textOf(
        await tools.probe__strict?.execute?.({ n }, { toolCallId: 'call', messages: [], context: undefined }),
      ),
  };
}

async function bridge(url: URL): Promise<Outside> {
  const program = fileOf('mcp-remote', 'dist/proxy.js');
  const args = [program, url.href, '--allow-http', '--transport', 'http-only', '--header', header];
  const env = await openHome();
  return connectOld(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
}

/** Exit of the Inspector when a tool result is a failure. */
const toolFailedCode = 5;

async function openInspector(url: URL, era: 'legacy' | 'modern'): Promise<Outside> {
  const program = fileOf('@modelcontextprotocol/inspector', 'clients/launcher/build/index.js');
  const env = await openHome();
  const run = async (...args: string[]) => {
    const fixed = [program, '--cli', url.href, '--transport', 'http', '--protocol-era', era];
    const child = spawn(process.execPath, [...fixed, '--header', header, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const closed = once(child, 'close');
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await closed;
    if (code !== 0 && code !== toolFailedCode) throw new Error(`${code}: ${output}${errors}`);
    return JSON.parse(output);
  };
  const method = '--method';
  return {
    list: async () => namesOf(await run(method, 'tools/list')),
    call: async (n) =>
      textOf(await run(method, 'tools/call', '--tool-name', 'probe__strict', '--tool-arg', `n=${n}`)),
  };
}

const old = '2025-11-25';
const modern = '2026-07-28';

test.each<[name: string, version: string, connect: (url: URL) => Promise<Outside>]>([
  [
    'SDK 1.x',
    old,
    (url) => connectOld(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as Transport),
  ],
  ['SDK 2', old, (url) => connectNew(url)],
  ['SDK 2, mode auto', modern, (url) => connectNew(url, 'auto')],
  ['@ai-sdk/mcp', modern, connectAiSdk],
  ['mcp-remote, driven over stdio', old, bridge],
  ['MCP Inspector, legacy', old, (url) => openInspector(url, 'legacy')],
  ['MCP Inspector, modern', modern, (url) => openInspector(url, 'modern')],
])('%s speaks %s here, lists and calls', async (_name, version, connect) => {
  const gateway = await openGateway({ plugins: [probe], keys: [keyFor(key)] });
  const versions = watchVersions(gateway.app.server);
  const client = await connect(new URL('/mcp', gateway.url));
  expect(await client.list()).toEqual(['probe__whoami', 'probe__strict', 'probe__steps', 'probe__broken']);
  expect(await client.call(1)).toBe('ran');
  expect(await client.call('one')).toContain('/n');
  expect([...versions]).toEqual([version]);
});
