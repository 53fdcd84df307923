/** Servers under load, each in a separate process, and how requests of each era look. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from '@harness/runtime';
import { searchPath } from '../config.ts';
import { startGateway } from '../gateway.ts';
import { echoNames } from './echo-tools.ts';
import { openThreadToken } from './thread-token.ts';

/** A running server. */
export interface Contender {
  name: string;
  url: string;
  pid: number;
  /** Pids of other processes that work for its requests. */
  helpers: number[];
  headers: Record<string, string>;
  /** A request as its era sends it. */
  message(method: 'tools/call' | 'tools/list'): { body: string; headers: Record<string, string> };
  end(): Promise<void>;
}

type Era = '2025' | '2026';
/** The API key of gateways under load. */
export const key = 'key-of-the-benchmark';
const secret = 'secret-of-the-benchmark';
const inThisFolder = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** The servers that are compared. */
export const contenders = [
  'fastify route',
  'fastify route 2026',
  'ours 2025',
  'ours 2025 SSE',
  'ours 2026',
  'ours 2026, no key',
  'ours 2026, thread token',
  'ours 2026, isolated',
  'sdk 1 session',
  'sdk 2 handler',
] as const;
/** One of them. */
export type ContenderName = (typeof contenders)[number];

/** Starts a server with this many echo tools. */
export async function startContender(
  name: ContenderName,
  tools: 10 | 500,
  redisUrl: string,
): Promise<Contender> {
  switch (name) {
    case 'fastify route':
      return contend(name, await startPeer('peers/fastify-route.ts', tools), { era: '2025' });
    // What the longer request of 2026 alone costs.
    case 'fastify route 2026':
      return contend(name, await startPeer('peers/fastify-route.ts', tools), {
        era: '2026',
        headers: { authorization: `Bearer ${key}` },
      });
    case 'sdk 2 handler':
      return contend(name, await startPeer('peers/sdk2-handler.ts', tools), { era: '2026' });
    case 'sdk 1 session': {
      const peer = await startPeer('peers/sdk1-session.ts', tools);
      return contend(name, peer, { era: '2025', headers: await beginSession(peer.ready.url, {}) });
    }
    case 'ours 2025 SSE':
    case 'ours 2025': {
      const gateway = await openGateway(tools, redisUrl);
      // A client that does not accept JSON gets the result as one event.
      const accepts = name === 'ours 2025 SSE' ? { accept: 'text/event-stream' } : {};
      const auth = { authorization: `Bearer ${key}`, ...accepts };
      return contend(name, gateway, {
        era: '2025',
        headers: { ...auth, ...(await beginSession(gateway.ready.url, auth)) },
        prefix: 'bench__',
      });
    }
    case 'ours 2026, thread token': {
      const gateway = await openGateway(tools, redisUrl);
      const { token, close } = await openThreadToken(redisUrl, secret);
      const contender = contend(name, gateway, {
        era: '2026',
        headers: { authorization: `Bearer ${token}` },
        prefix: 'bench__',
      });
      const end = async () => {
        await contender.end();
        await close();
      };
      return { ...contender, end };
    }
    case 'ours 2026, no key': {
      const gateway = await openGateway(tools, redisUrl, { withKey: false });
      return contend(name, gateway, { era: '2026', prefix: 'bench__' });
    }
    case 'ours 2026':
      return startOurs(redisUrl, { tools });
    case 'ours 2026, isolated': {
      const gateway = await openGateway(tools, redisUrl, { isolation: 'process' });
      const contender = contend(name, gateway, {
        era: '2026',
        headers: { authorization: `Bearer ${key}` },
        prefix: 'bench__',
      });
      return { ...contender, helpers: childrenOf(contender.pid) };
    }
  }
}

/** This gateway with a key, for clients of 2026-07-28. `env`: more of its environment. */
export async function startOurs(
  redisUrl: string,
  { tools = 10, env = {} }: { tools?: 10 | 500; env?: Record<string, string> } = {},
): Promise<Contender> {
  const gateway = await openGateway(tools, redisUrl, { env });
  return contend('ours 2026', gateway, {
    era: '2026',
    headers: { authorization: `Bearer ${key}` },
    prefix: 'bench__',
  });
}

const startPeer = (main: string, tools: number) =>
  startChild<{ url: string }>({
    name: main,
    main: inThisFolder(main),
    args: [String(tools)],
    env: { PATH: searchPath },
  });

/** The tools run in the gateway's process by default, so that only the gateway is measured. */
const openGateway = (
  tools: number,
  redisUrl: string,
  {
    isolation = 'none',
    withKey = true,
    env = {},
  }: { isolation?: 'process' | 'none'; withKey?: boolean; env?: Record<string, string> } = {},
) =>
  startGateway(redisUrl, {
    ...(withKey && { HARNESS_API_KEY: key }),
    HARNESS_TOKEN_SECRET: secret,
    HARNESS_PLUGIN_ISOLATION: isolation,
    HARNESS_PLUGINS: inThisFolder(`echo-plugin-${tools}.ts`),
    ...env,
  });

/** Begins an MCP session of 2025-11-25. Returns the headers that name it. */
export async function beginSession(
  url: string,
  headers: Record<string, string>,
): Promise<Record<string, string>> {
  const send = (body: object, more: Record<string, string> = {}) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...accept, ...headers, ...more },
      body: JSON.stringify(body),
    });
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  };
  const response = await send({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  await response.text();
  const session = {
    'mcp-session-id': String(response.headers.get('mcp-session-id')),
    'mcp-protocol-version': '2025-11-25',
  };
  await (await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)).text();
  return session;
}

/** A running server as a contender; `prefix`: what stands before the names of its tools. */
export function contend(
  name: string,
  child: Child<{ url: string }>,
  { era, headers = {}, prefix = '' }: { era: Era; headers?: Record<string, string>; prefix?: string },
): Contender {
  const tool = `${prefix}${echoNames(10)[5]}`;
  return {
    name,
    url: `${child.ready.url}/mcp`,
    pid: child.process.pid as number,
    helpers: [],
    headers: { ...accept, ...headers },
    message(method) {
      const call = method === 'tools/call';
      const params = {
        ...(call ? { name: tool, arguments: { text: 'the quick brown fox', n: 7 } } : {}),
        ...(era === '2026' ? { _meta: envelope } : {}),
      };
      return {
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        headers:
          era === '2026'
            ? {
                'mcp-protocol-version': '2026-07-28',
                'mcp-method': method,
                ...(call ? { 'mcp-name': tool } : {}),
              }
            : {},
      };
    },
    end: () => child.end(10_000),
  };
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
};

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
