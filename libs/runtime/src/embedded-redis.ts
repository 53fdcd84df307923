import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { ConfigError } from './config.ts';
import { pdeathsig } from './pdeathsig.ts';

/** A running private redis-server. */
export interface EmbeddedRedis {
  /** For `connectRedis`. */
  url: string;
  process: ChildProcess;
  /** Ends the server; its data stays in `dir`. */
  close(): Promise<void>;
}

/** Longest path of a Unix socket on Linux and macOS, less a margin. */
const socketPathLimit = 100;
const startLimitMs = 30_000;

/**
 * Starts a private `redis-server` on a Unix socket (mode 0600, no TCP port) with its files in `dir`. Every
 * write is on disk before it is acknowledged; no key is ever evicted. Throws ConfigError when it does not
 * start.
 */
export async function startEmbeddedRedis(dir: string): Promise<EmbeddedRedis> {
  const home = resolve(dir);
  await mkdir(home, { recursive: true, mode: 0o700 });
  const wanted = join(home, 'redis.sock');
  const elsewhere =
    wanted.length > socketPathLimit ? await mkdtemp(join(tmpdir(), 'harness-redis-')) : undefined;
  const socket = elsewhere ? join(elsewhere, 'redis.sock') : wanted;
  await rm(socket, { force: true });

  const settings = {
    port: '0',
    unixsocket: socket,
    unixsocketperm: '600',
    dir: home,
    appendonly: 'yes',
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
    save: '',
    loglevel: 'warning',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const [command, ...prefix] = [...pdeathsig(), 'redis-server'];
  // Its own process group: Ctrl-C in the terminal must not stop Redis before its clients.
  const child = spawn(command as string, [...prefix, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => output.splice(0, output.length - 20, text));
  }

  const url = `unix://${socket}`;
  try {
    await answering(child, socket);
  } catch (cause) {
    child.kill('SIGKILL');
    throw new ConfigError(
      `redis-server did not start: ${(cause as Error).message} ${output.join('').trim()}`,
    );
  }
  return {
    url,
    process: child,
    async close() {
      await ended(child, 'SIGTERM');
      if (elsewhere) await rm(elsewhere, { recursive: true, force: true });
    },
  };
}

async function answering(child: ChildProcess, socket: string): Promise<void> {
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`it ended with ${code ?? signal}.`)));
    setTimeout(() => reject(new Error(`it did not answer within ${startLimitMs} ms.`)), startLimitMs).unref();
  });
  const probe = new Redis({
    path: socket,
    lazyConnect: true,
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
  });
  probe.on('error', () => undefined); // the socket does not exist yet; `failed` limits the wait
  try {
    await Promise.race([probe.ping(), failed]);
  } finally {
    probe.disconnect();
    failed.catch(() => undefined);
  }
}

/** Sends a signal to a child and waits for its end; sends SIGKILL after `graceMs`. */
export async function ended(child: ChildProcess, signal: NodeJS.Signals, graceMs = 10_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise<void>((done) => child.once('exit', () => done()));
  const hard = setTimeout(() => child.kill('SIGKILL'), graceMs);
  child.kill(signal);
  await exit;
  clearTimeout(hard);
}
