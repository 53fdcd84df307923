/** One plugin process: its start, its limits and its end. host-process.ts starts another one in its place. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { PluginLogger } from '@harness/plugin-kit';
import { compileCache, pdeathsig } from '@harness/runtime';
import { type Channel, openChannel } from './channel.ts';
import { logOutput } from './log-output.ts';
import { createPeer, type Handler, type Peer } from './peer.ts';

/** What a plugin process needs. */
export interface PluginProcessOptions {
  env: Record<string, string>;
  /** Limit of resident memory; the JavaScript heap may use half of it. */
  memoryMb: number;
  /** A process that does not respond for this long is ended. Default 10 s. */
  hangLimitMs?: number;
  logger: PluginLogger;
  /** Handles the requests of the process: its use of the context, and its log lines. */
  handle: Handler;
}

/** A plugin process that runs, or has ended. */
export interface PluginProcess {
  child: ChildProcess;
  channel: Channel;
  peer: Peer;
  startedAt: number;
  /** Why the owner ended it. */
  endedFor?: string;
}

const main = fileURLToPath(new URL('./host-main.ts', import.meta.url));

/** Lower priority than the owner, so that a busy loop does not take the owner's CPU time. */
const niceness = 10;
const pingMs = 1_000;
const defaultHangLimitMs = 10_000;
const memoryCheckMs = 250;
/** Maximum wait for the output of a process that has ended. */
const lastOutputMs = 200;

/** Starts a process. Calls `onGone` once, with the reason, when it has ended or could not be started. */
export function spawnPluginProcess(
  options: PluginProcessOptions,
  onGone: (process: PluginProcess, reason: string) => void,
): PluginProcess {
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
      endGroup(child);
    },
  });
  const running: PluginProcess = { child, channel, peer, startedAt: performance.now() };
  const lastLine = logOutput(child, logger);
  let isGone = false;
  const gone = (reason: string) => {
    if (isGone) return;
    isGone = true;
    onGone(running, reason);
  };
  child.once('error', (error) => gone(error.message));
  child.once('exit', async (code, signal) => {
    killGroup(child); // what it has started and not detached
    await closeOutput(child);
    const how = signal ? `signal ${signal}` : `exit code ${code}`;
    const line = lastLine();
    gone(running.endedFor ?? (line === '' ? how : `${how}: ${line.slice(0, 300)}`));
  });
  return running;
}

/** Ends the process, if it still runs, for this reason. */
export function endPluginProcess(process: PluginProcess, reason: string): void {
  process.endedFor ??= reason;
  endGroup(process.child);
}

/** Ends the process when it does not respond, or uses too much memory. */
export function watchPluginProcess(
  process: PluginProcess,
  { memoryMb, hangLimitMs = defaultHangLimitMs }: Pick<PluginProcessOptions, 'memoryMb' | 'hangLimitMs'>,
): void {
  let answeredAt = performance.now();
  const beat = setInterval(() => {
    if (performance.now() - answeredAt > hangLimitMs)
      return endPluginProcess(process, `it did not respond for ${hangLimitMs / 1000} s`);
    process.peer.ask('ping', {}).then(
      () => {
        answeredAt = performance.now();
      },
      () => undefined,
    );
    return undefined;
  }, pingMs);
  const weigh = setInterval(async () => {
    const mb = (await residentBytes(process.child.pid)) / 1024 / 1024;
    if (mb > memoryMb)
      endPluginProcess(process, `it used ${Math.round(mb)} MB of memory; its limit is ${memoryMb} MB`);
  }, memoryCheckMs);
  for (const one of [beat, weigh]) one.unref();
  process.child.once('exit', () => {
    clearInterval(beat);
    clearInterval(weigh);
  });
}

/**
 * Reads what an ended process has written, then closes its streams. The time is limited: a child that the process has
 * detached may have inherited the streams, and they do not end before that child.
 */
async function closeOutput({ stdio }: ChildProcess): Promise<void> {
  const streams = stdio.filter((stream) => stream !== null && stream !== undefined);
  const signal = AbortSignal.timeout(lastOutputMs);
  await Promise.allSettled(streams.map((stream) => finished(stream, { writable: false, signal })));
  for (const stream of streams) stream.destroy();
}

/** Kills the process, if it still runs, and all processes that it has started: its process group. */
function endGroup(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) killGroup(child);
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
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
