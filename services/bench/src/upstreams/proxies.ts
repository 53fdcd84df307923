import { mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startChild } from '@harness/runtime';
import { searchPath } from '../config.ts';
import { startGateway } from '../gateway.ts';
import { beginSession, type Contender, contend, key } from '../mcp/contenders.ts';

/** How a proxy reaches the server behind it. */
export type Wire = 'http' | 'sse' | 'stdio';

const inPeers = (name: string) => fileURLToPath(new URL(`peers/${name}`, import.meta.url));
const echoMain = inPeers('echo-upstream.ts');
const tools = '10';
/** The command of the server behind the proxies, for stdio. */
export const echoCommand = [process.execPath, echoMain, 'stdio', tools] as const;

/** Starts the server behind the proxies, for HTTP; `sse`: with a stream for each response. */
export async function startEcho(wire: Wire): Promise<Contender> {
  const env = { PATH: searchPath };
  const echo = await startChild<{ url: string }>({
    name: 'echo',
    main: echoMain,
    args: [wire === 'sse' ? 'sse' : 'http', tools],
    env,
  });
  return contend('direct', echo, { era: '2025' });
}

/** Starts this gateway before the server. `echoUrl`: where that is, for HTTP. */
export async function startOurs(wire: Wire, { redisUrl, echoUrl }: { redisUrl: string; echoUrl: string }) {
  const [command, ...args] = echoCommand;
  const echo = wire === 'stdio' ? { command, args } : { type: 'http', url: echoUrl };
  const gateway = await startGateway(redisUrl, {
    HARNESS_API_KEY: key,
    HARNESS_UPSTREAMS_FILE: writeUpstreams({ echo }),
  });
  const auth = { authorization: `Bearer ${key}` };
  const { url } = gateway.ready;
  const isThere = async () => (await fetch(`${url}/v1/tools/echo__echo_5`, { headers: auth })).ok;
  while (!(await isThere())) await wait(20);
  const headers = { ...auth, ...(await beginSession(url, auth)) };
  return contend('ours', gateway, { era: '2025', headers, prefix: 'echo__' });
}

/** Writes an upstreams file; returns its path. It stays in the temporary folder. */
export function writeUpstreams(mcpServers: Record<string, object>): string {
  const file = join(mkdtempSync(join(tmpdir(), 'harness-bench-')), 'upstreams.json');
  writeFileSync(file, JSON.stringify({ mcpServers }), { mode: 0o600 });
  return file;
}

/** Starts mcp-proxy before the server. */
export async function startMcpProxy(wire: Wire, { echoUrl }: { echoUrl: string }): Promise<Contender> {
  const proxy = await startChild<{ url: string }>({
    name: 'mcp-proxy',
    main: inPeers('mcp-proxy.ts'),
    args: wire === 'stdio' ? ['stdio', ...echoCommand] : ['http', echoUrl],
    env: { PATH: searchPath },
  });
  return contend('mcp-proxy', proxy, { era: '2025', headers: await beginSession(proxy.ready.url, {}) });
}

/**
 * Starts supergateway before the server, for stdio; undefined where it is not installed (`npm install --no-save supergateway`: its
 * dependencies are too many to have them for one figure).
 */
export async function startSupergateway(): Promise<Contender | undefined> {
  const main = supergatewayMain();
  if (main === undefined) return undefined;
  const proxy = await startChild<{ url: string }>({
    name: 'supergateway',
    main: inPeers('supergateway.ts'),
    args: [main, ...echoCommand],
    env: { PATH: searchPath },
  });
  return contend('supergateway', proxy, { era: '2025', headers: await beginSession(proxy.ready.url, {}) });
}

function supergatewayMain(): string | undefined {
  const { resolve } = createRequire(import.meta.url);
  try {
    return join(dirname(resolve('supergateway/package.json')), 'dist/index.js');
  } catch {
    return undefined;
  }
}
