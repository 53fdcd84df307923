/**
 * Owns one plugin process: starts it, watches it, ends it, and starts a new one in its place.
 *
 *   starting ──► ready ──► (gone) ──► waiting ──► starting …
 *
 * A process is gone when it ends by itself, exceeds its memory limit, or does not respond for a time. The pause before the
 * next start doubles from 0.2 to 5 s; after more than ten ends in a minute, one start is tried every 10 s.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { AppError } from '@harness/contracts';
import type { PluginLogger } from '@harness/plugin-kit';
import { compileCache, pdeathsig } from '@harness/runtime';
import { type Channel, openChannel } from './channel.ts';
import { type Asking, createPeer, type Handler, type Peer } from './peer.ts';

/** What a host process needs. */
export interface HostProcessOptions {
  /** For messages: the plugin's name once it is known, before that its module. */
  name(): string;
  env: Record<string, string>;
  /** Limit of resident memory; the JavaScript heap may use half of it. */
  memoryMb: number;
  /** A process that does not respond for this long is ended. Default 10 s. */
  hangLimitMs?: number;
  logger: PluginLogger;
  /** Handles the requests of the process: its use of the context, and its log lines. */
  handle: Handler;
  /** Makes a new process ready for calls: loads and registers its plugin. */
  prepare(ask: Peer['ask']): Promise<void>;
}

/** `degraded`: too many crashes, so that restarts are rare. */
export type HostState = 'ready' | 'restarting' | 'degraded';

/** A plugin process that is restarted when it ends. */
export interface HostProcess {
  /** Starts the first process. Rejects if it does not become ready; then no other is started. */
  start(): Promise<void>;
  /** Sends a request; waits up to 5 s for a process that is starting. Rejects with `plugin_unavailable` without one. */
  ask(method: string, args: unknown, asking?: Asking): Promise<unknown>;
  state(): HostState;
  /** Number of crashes, and the reason of the last one. */
  crashes(): { count: number; last: string | undefined };
  /** Id of the running process. */
  pid(): number | undefined;
  close(): Promise<void>;
}

const main = fileURLToPath(new URL('./host-main.ts', import.meta.url));

/** Lower priority than the owner, so that a busy loop does not take the owner's CPU time. */
const niceness = 10;
const firstPauseMs = 200;
const longestPauseMs = 5_000;
/** After a process has run for this long, the pause starts again at its minimum. */
const settledMs = 10_000;
const crashWindowMs = 60_000;
const maxCrashes = 10;
const probePauseMs = 10_000;
/** Maximum wait of a call for a process that is starting. */
const startWaitMs = 5_000;
/** A module may take long to load. */
const prepareLimitMs = 60_000;
const pingMs = 1_000;
const defaultHangLimitMs = 10_000;
const memoryCheckMs = 250;
/** Limits of pending calls, and of bytes that the process has not read. */
const maxCalls = 1_000;
const maxUnsentBytes = 32 * 1024 * 1024;
/** Maximum length of a logged line of its output. */
const maxLineChars = 8_192;

interface Running {
  child: ChildProcess;
  channel: Channel;
  peer: Peer;
  startedAt: number;
  /** Why the owner ended it. */
  endedFor?: string;
  isGone?: boolean;
}

/** Creates a host process; nothing starts before `start`. */
export function createHostProcess(options: HostProcessOptions): HostProcess {
  const { logger, hangLimitMs = defaultHangLimitMs } = options;
  let running: Running | undefined;
  let starting: Promise<void> | undefined;
  let closed = false;
  /** True after the first process became ready; from then on a process that ends is replaced. */
  let hasStarted = false;
  let pauseMs = firstPauseMs;
  let timer: NodeJS.Timeout | undefined;
  let nextStartAt = 0;
  const crashedAt: number[] = [];
  let count = 0;
  let last: string | undefined;

  const isDegraded = () =>
    crashedAt.length > maxCrashes && performance.now() - (crashedAt[0] ?? 0) < crashWindowMs;
  const unavailable = (how: string) =>
    new AppError('plugin_unavailable', `The plugin "${options.name()}" ${how}.`);

  const kill = (process: Running, why: string) => {
    process.endedFor ??= why;
    end(process.child);
  };

  const onGone = (process: Running, how: string) => {
    if (process.isGone) return;
    process.isGone = true;
    if (running === process) running = undefined;
    process.peer.end(
      unavailable(`ended during the call: ${how}. It is being restarted; repeat the call if that is safe`),
    );
    if (closed || !hasStarted) return;
    count++;
    last = how;
    crashedAt.push(performance.now());
    if (crashedAt.length > maxCrashes + 1) crashedAt.shift();
    if (performance.now() - process.startedAt > settledMs) pauseMs = firstPauseMs;
    const waitMs = isDegraded() ? probePauseMs : pauseMs;
    pauseMs = Math.min(2 * pauseMs, longestPauseMs);
    logger.error({ reason: how, crashes: count, nextStartMs: waitMs }, 'plugin process ended');
    nextStartAt = performance.now() + waitMs;
    timer = setTimeout(() => void restart(), waitMs);
    timer.unref();
  };

  const launch = async (): Promise<Running> => {
    const process = spawnHost(options, onGone);
    const late = setTimeout(
      () => kill(process, `it was not ready within ${prepareLimitMs} ms`),
      prepareLimitMs,
    );
    try {
      await options.prepare(process.peer.ask);
      return process;
    } catch (error) {
      kill(process, `it did not start: ${(error as Error).message}`);
      throw error;
    } finally {
      clearTimeout(late);
    }
  };
  const restart = async () => {
    starting = launch().then(
      (process) => {
        if (closed) return end(process.child);
        running = process;
        watch(process);
        logger.info({ pid: process.child.pid, crashes: count }, 'plugin process is back');
        return undefined;
      },
      () => undefined, // onGone reports its end and schedules the next start
    ) as Promise<void>;
    await starting;
    starting = undefined;
  };

  const watch = (process: Running) => {
    let answeredAt = performance.now();
    const beat = setInterval(() => {
      if (performance.now() - answeredAt > hangLimitMs)
        return kill(process, `it did not respond for ${hangLimitMs / 1000} s`);
      process.peer.ask('ping', {}).then(
        () => {
          answeredAt = performance.now();
        },
        () => undefined,
      );
      return undefined;
    }, pingMs);
    const weigh = setInterval(async () => {
      const bytes = await residentBytes(process.child.pid);
      if (bytes > options.memoryMb * 1024 * 1024)
        kill(
          process,
          `it used ${Math.round(bytes / 1024 / 1024)} MB of memory; its limit is ${options.memoryMb} MB`,
        );
    }, memoryCheckMs);
    for (const one of [beat, weigh]) one.unref();
    process.child.once('exit', () => {
      clearInterval(beat);
      clearInterval(weigh);
    });
  };

  /** The running process, or the next one if it starts soon. */
  const current = async (): Promise<Running> => {
    if (running) return running;
    const soon = nextStartAt - performance.now() < startWaitMs;
    if (!closed && soon && !isDegraded()) {
      const until = performance.now() + startWaitMs;
      while (!running && !closed && performance.now() < until) await (starting ?? pause(20));
    }
    if (running) return running;
    const inMs = Math.max(0, Math.round(nextStartAt - performance.now()));
    throw unavailable(
      `has crashed (${last ?? 'it does not start'}) and restarts in ${inMs} ms; try again then`,
    );
  };

  return {
    async start() {
      try {
        running = await launch();
        hasStarted = true;
        watch(running);
      } catch (error) {
        closed = true;
        throw error;
      }
    },
    async ask(method, args, asking) {
      const { peer, channel } = running ?? (await current());
      if (peer.waiting() >= maxCalls)
        throw unavailable(`has ${maxCalls} pending calls and accepts no more; try again later`);
      if (channel.unsent() > maxUnsentBytes) throw unavailable('does not read its messages; try again later');
      return peer.ask(method, args, asking);
    },
    state: () => (running ? 'ready' : isDegraded() ? 'degraded' : 'restarting'),
    crashes: () => ({ count, last }),
    pid: () => running?.child.pid,
    async close() {
      closed = true;
      clearTimeout(timer);
      const { child } = running ?? {};
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      end(child);
      await gone;
    },
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function spawnHost(options: HostProcessOptions, onGone: (process: Running, how: string) => void): Running {
  const { env, memoryMb, logger, handle } = options;
  // A large allocation can exceed the limit between two measurements, so the kernel refuses it.
  const script = `ulimit -d ${4 * memoryMb * 1024} 2>/dev/null; exec "$0" "$@"`;
  const heap = `--max-old-space-size=${Math.max(32, Math.floor(memoryMb / 2))}`;
  const [command = 'sh', ...args] = [...pdeathsig(), 'sh', '-c', script, process.execPath, heap, main];
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...compileCache, ...env },
    detached: true,
  });
  if (child.pid !== undefined) lowerPriority(child.pid);
  const peer = createPeer(() => channel, handle);
  const channel = openChannel(child.stdio[3] as Duplex, {
    onMessage: peer.hear,
    onClose(error) {
      if (error) running.endedFor ??= error.message;
      end(child);
    },
  });
  const running: Running = { child, channel, peer, startedAt: performance.now() };
  let lastWords = '';
  for (const stream of ['stdout', 'stderr'] as const) {
    const source = child[stream];
    if (!source) continue;
    createInterface({ input: source }).on('line', (line) => {
      if (stream === 'stderr') lastWords = line.startsWith('    at ') ? lastWords : line;
      logger[stream === 'stdout' ? 'info' : 'warn']({ stream }, line.slice(0, maxLineChars));
    });
  }
  child.once('error', (error) => onGone(running, error.message));
  child.once('close', (code, signal) => {
    const { endedFor } = running;
    const said = lastWords === '' ? '' : `: ${lastWords.slice(0, 300)}`;
    onGone(running, endedFor ?? `${signal ? `signal ${signal}` : `exit code ${code}`}${said}`);
  });
  return running;
}

/** Kills the process and all processes that it has started: its process group. */
function end({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, niceness);
  } catch {
    // It has ended already.
  }
}

/** 0 on platforms without /proc. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const statm = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '');
  return Number(statm.split(' ')[1] ?? 0) * pageBytes;
}
const pageBytes = 4096;
