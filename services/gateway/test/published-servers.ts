/** MCP servers that others have published, as entries of an upstreams file, and a client at a gateway. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished } from 'vitest';
import { parseUpstreams, type UpstreamsFile } from '../src/upstreams/file/upstreams-file.ts';
import type { Gateway } from './fixture.ts';

const { resolve } = createRequire(import.meta.url);
const folderOf = (name: string) => resolve(`${name}/package.json`).replace(/package\.json$/, '');

/** The command of a published server. */
export const serverOf = (name: string, ...args: string[]) => ({
  command: process.execPath,
  args: [join(folderOf(`@modelcontextprotocol/server-${name}`), 'dist/index.js'), ...args],
});

/** An upstreams file with these entries; every one of them must be good. */
export function fileOf(mcpServers: Record<string, object>): UpstreamsFile {
  const file = parseUpstreams(JSON.stringify({ mcpServers }), process.env);
  expect(file.diagnostics).toEqual([]);
  return file;
}

interface ClientOptions {
  who?: () => Promise<{ action: 'accept'; content: Record<string, string> }>;
  headers?: Record<string, string>;
  path?: string;
}

/** A client of either era, connected to a gateway. With `who` it answers questions. */
export async function clientAt(
  url: string,
  mode: 'auto' | 'legacy' = 'auto',
  { who, headers, path = '/mcp' }: ClientOptions = {},
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      versionNegotiation: { mode },
      defaultCacheTtlMs: 0,
      ...(who && { capabilities: { elicitation: { form: {} } } }),
    },
  );
  if (who) client.setRequestHandler('elicitation/create', who);
  await client.connect(
    new StreamableHTTPClientTransport(new URL(path, url), { requestInit: { headers: headers ?? {} } }),
  );
  onTestFinished(() => client.close());
  return client;
}

/** Runs a published server that listens on a port of its own. */
export async function runServer(
  name: string,
  { args, env, port }: { args: string[]; env: Record<string, string>; port: number },
): Promise<{ end(): Promise<void> }> {
  const { command, args: own } = serverOf(name, ...args);
  const child = spawn(command, own, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' });
  const gone = once(child, 'exit');
  const end = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  onTestFinished(end);
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  await expect.poll(isUp, { timeout: 20_000 }).toBe(true);
  return { end };
}

/** A client connected to a server directly. */
export async function directClient(server: { command: string; args: string[] }): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ ...server, stderr: 'ignore' }));
  onTestFinished(() => client.close());
  return client;
}

/** Waits until the gateway has connected to all these upstreams; returns what `GET /v1/upstreams` shows of them. */
export async function untilReady(
  gateway: Gateway,
  names: readonly string[],
  headers: Record<string, string> = {},
) {
  const list = async () =>
    (await gateway.call('GET', '/v1/upstreams', { headers })).body.upstreams as Shown[];
  await expect
    .poll(
      async () =>
        (await list())
          .filter(({ tools, resources, prompts }) => tools.length + resources + prompts > 0)
          .map(({ name }) => name)
          .sort(),
      {
        timeout: 20_000,
      },
    )
    .toEqual([...names].sort());
  return list();
}

/** An upstream as REST shows it. */
export interface Shown {
  name: string;
  state: string;
  tools: string[];
  resources: number;
  prompts: number;
  lastError: string | null;
  problems: string[];
  [field: string]: unknown;
}

const chromium =
  process.env.CHROME_PATH ??
  (process.env.PATH ?? '')
    .split(':')
    .map((folder) => join(folder, 'chromium'))
    .find(existsSync) ??
  'chromium';

/** The browser of Debian, which every machine of these tests has; each thread gets its own. */
export const playwright = {
  command: process.execPath,
  args: [
    join(folderOf('@playwright/mcp'), 'cli.js'),
    '--headless',
    '--isolated',
    '--no-sandbox',
    '--executable-path',
    chromium,
  ],
  cwd: tmpdir(), // it writes files of its own beside where it runs
  scope: 'thread',
};
