import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Child, compileCache, freePort, startChild, startEmbeddedRedis } from '@harness/runtime';
import { afterAll, onTestFinished } from 'vitest';

const inRepository = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
export const bridgeMain = inRepository('services/client/src/bridge/main.ts');
const gatewayMain = inRepository('services/gateway/src/main.ts');
const path = process.env.PATH ?? '';

export const apiKey = 'a-key-for-the-bridge';

/** A gateway with its Redis. */
export interface House {
  url: string;
  gateway(): Child<{ url: string }>;
  startGateway(): Promise<void>;
  call(method: string, path: string, body?: object): Promise<unknown>;
  /** Deletes every MCP session. */
  forgetSessions(): Promise<void>;
}

/** One house for all tests of a file that do not change it. */
export function shareHouse(): () => Promise<House> {
  let house: Promise<House> | undefined;
  const closing: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of closing) await close();
  }, 60_000);
  return () => {
    house ??= openHouse((close) => closing.push(close));
    return house;
  };
}

/** Starts a gateway process with its own Redis. Its address stays the same after a restart. */
export async function openHouse(
  onEnd: (close: () => Promise<void>) => unknown = onTestFinished,
): Promise<House> {
  const dir = await mkdtemp(join(tmpdir(), 'harness-bridge-'));
  const redis = await startEmbeddedRedis(dir);
  const port = await freePort();
  let gateway: Child<{ url: string }>;
  const startGateway = async () => {
    gateway = await startChild({
      name: 'gateway',
      main: gatewayMain,
      env: {
        PATH: path,
        PORT: String(port),
        REDIS_URL: redis.url,
        HARNESS_API_KEY: apiKey,
        HARNESS_PLUGINS: inRepository('services/client/test/slow-plugin.ts'),
        LOG_LEVEL: 'warn',
      },
    });
  };
  await startGateway();
  onEnd(async () => {
    await gateway.end(10_000);
    await redis.close();
    await rm(dir, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    gateway: () => gateway,
    startGateway,
    async call(method, route, body) {
      const response = await fetch(url + route, {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${route}: ${response.status} ${await response.text()}`);
      return response.json();
    },
    async forgetSessions() {
      const socket = redis.url.slice('unix://'.length);
      const script = `for _, k in ipairs(redis.call('KEYS', '{h}:mcp:*')) do redis.call('DEL', k) end`;
      const child = spawn('redis-cli', ['-s', socket, 'EVAL', script, '0'], { stdio: 'ignore' });
      await once(child, 'exit');
    },
  };
}

export const bridgeEnv = (url: string): Record<string, string> => ({
  PATH: path,
  ...compileCache,
  HARNESS_URL: url,
  HARNESS_API_KEY: apiKey,
});

interface Message {
  id?: number;
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
  params?: any;
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
  result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
  error?: any;
}

/** Starts a bridge; tests exchange lines with it. */
export function openBridge(url: string, args: string[] = [], env: Record<string, string> = bridgeEnv(url)) {
  const child = spawn(process.execPath, [bridgeMain, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const received: Message[] = [];
  const notJson: string[] = [];
  let logged = '';
  const watchers = new Set<() => void>();
  const changed = () => {
    for (const watcher of watchers) watcher();
  };
  createInterface(child.stdout).on('line', (line) => {
    try {
      received.push(JSON.parse(line));
    } catch {
      notJson.push(line);
    }
    changed();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    logged += text;
    changed();
  });
  /** Resolves with the first truthy result; checks now and after every output. */
  const until = <T>(find: () => T | undefined | false): Promise<T> =>
    new Promise((resolve) => {
      const look = () => {
        const found = find();
        if (!found) return;
        watchers.delete(look);
        resolve(found);
      };
      watchers.add(look);
      look();
    });
  let lastId = 0;
  const write = (message: object) =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const begin = (method: string, params: object = {}) => {
    const id = ++lastId;
    write({ id, method, params });
    return { id, answer: until(() => received.find((message) => message.id === id && !message.method)) };
  };
  return {
    child,
    exited,
    received,
    notJson,
    logged: () => logged,
    untilLogged: (words: string) => until(() => logged.includes(words)),
    notified: (method: string, beyond = 0) =>
      until(() => received.filter((message) => message.method === method).length > beyond),
    count: (method: string) => received.filter((message) => message.method === method).length,
    write,
    begin,
    ask: (method: string, params?: object) => begin(method, params).answer,
    use: (name: string, input: object = {}) => begin('tools/call', { name, arguments: input }).answer,
    async initialize(protocolVersion = '2025-11-25') {
      const clientInfo = { name: 'lines', version: '1' };
      const answer = await begin('initialize', { protocolVersion, capabilities: {}, clientInfo }).answer;
      write({ method: 'notifications/initialized' });
      return answer;
    },
  };
}
