/**
 * Keeps one plugin process running: starts it, and starts a new one in its place when it ends.
 *
 *   starting ──► ready ──► (gone) ──► waiting ──► starting …
 *
 * A process is gone when it ends by itself, exceeds its memory limit, or does not respond for a time. The
 * pause before the next start doubles from 0.2 to 5 s; after more than ten ends in a minute, one start is
 * tried every 10 s.
 */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '@harness/contracts';
import { createCounts } from '@harness/runtime';
import type { Asking, Peer } from './peer.ts';
import {
  endPluginProcess,
  type PluginProcess,
  type PluginProcessOptions,
  spawnPluginProcess,
  watchPluginProcess,
} from './plugin-process.ts';

/** What a host process needs. */
export interface HostProcessOptions extends PluginProcessOptions {
  /** For messages: the plugin's name once it is known, before that its module. */
  name(): string;
  /** Makes a new process ready for calls: loads and registers its plugin. */
  prepare(ask: Peer['ask']): Promise<void>;
}

/** Options of a request; `tenant`: for whom it is. */
export type CallAsking = Asking & { tenant?: string | undefined };

/** `degraded`: too many crashes, so that restarts are rare. */
export type HostState = 'ready' | 'restarting' | 'degraded';

/** A plugin process that is restarted when it ends. */
export interface HostProcess {
  /** Starts the first process. Rejects if it does not become ready; then no other is started. */
  start(): Promise<void>;
  /**
   * Sends a request; waits up to 5 s for a process that is starting. Rejects with `plugin_unavailable` without
   * one, and while it has too many pending calls.
   */
  ask(method: string, args: unknown, asking?: CallAsking): Promise<unknown>;
  state(): HostState;
  /** Number of crashes, and the reason of the last one. */
  crashes(): { count: number; last: string | undefined };
  /** Id of the running process. */
  pid(): number | undefined;
  close(): Promise<void>;
}

const firstPauseMs = 200;
const longestPauseMs = 5_000;
/** After a process has run for this long, the pause starts again at its minimum. */
const settledMs = 10_000;
const crashWindowMs = 60_000;
const maxCrashes = 10;
const probePauseMs = 10_000;
/** Maximum wait of a call for a process that is starting, and how often it looks. */
const startWaitMs = 5_000;
const lookMs = 20;
/** A module may take long to load. */
const prepareLimitMs = 60_000;
/** Limits of pending calls, of more for tenants that have fewer than `reservedEach`, and of bytes that the process has not read. */
const maxCalls = 1_000;
const reserved = 200;
const reservedEach = 20;
const maxUnsentBytes = 32 * 1024 * 1024;

/** Creates a host process; nothing starts before `start`. */
export function createHostProcess(options: HostProcessOptions): HostProcess {
  const { logger } = options;
  const crashes = createCrashes();
  const pending = createCounts();
  let allPending = 0;
  let running: PluginProcess | undefined;
  /** The process that is not ready yet. */
  let starting: PluginProcess | undefined;
  let closed = false;
  /** True after the first process became ready; from then on a process that ends is replaced. */
  let hasStarted = false;
  let timer: NodeJS.Timeout | undefined;
  let nextStartAt = 0;

  const unavailable = (how: string) =>
    new AppError('plugin_unavailable', `The plugin "${options.name()}" ${how}.`);

  const onGone = (process: PluginProcess, reason: string) => {
    if (running === process) running = undefined;
    process.peer.end(
      unavailable(`ended during the call: ${reason}. It is being restarted; repeat the call if that is safe`),
    );
    if (closed || !hasStarted) return;
    const waitMs = crashes.add(reason, performance.now() - process.startedAt);
    logger.error({ reason, crashes: crashes.count(), nextStartMs: waitMs }, 'plugin process ended');
    nextStartAt = performance.now() + waitMs;
    timer = setTimeout(() => void restart(), waitMs);
    timer.unref();
  };

  /** Starts a process and makes it ready for calls. */
  const launch = async (): Promise<PluginProcess> => {
    const process = spawnPluginProcess(options, onGone);
    starting = process;
    const late = setTimeout(
      () => endPluginProcess(process, `it was not ready within ${prepareLimitMs} ms`),
      prepareLimitMs,
    );
    try {
      await options.prepare(process.peer.ask);
      return process;
    } catch (error) {
      endPluginProcess(process, `it did not start: ${(error as Error).message}`);
      throw error;
    } finally {
      clearTimeout(late);
      starting = undefined;
    }
  };

  /** Never rejects. */
  const restart = () =>
    launch().then(
      (process) => {
        if (closed) return endPluginProcess(process, 'it is closed');
        running = process;
        watchPluginProcess(process, options);
        logger.info({ pid: process.child.pid, crashes: crashes.count() }, 'plugin process is back');
        return undefined;
      },
      () => undefined, // onGone reports its end and schedules the next start
    );

  /** The running process, or the next one if it starts soon. */
  const current = async (): Promise<PluginProcess> => {
    if (running) return running;
    const soon = nextStartAt - performance.now() < startWaitMs;
    if (!closed && soon && !crashes.areMany()) {
      const until = performance.now() + startWaitMs;
      while (!running && !closed && performance.now() < until) await pause(lookMs);
    }
    if (running) return running;
    const inMs = Math.max(0, Math.round(nextStartAt - performance.now()));
    throw unavailable(
      `has crashed (${crashes.last() ?? 'it does not start'}) and restarts in ${inMs} ms; try again then`,
    );
  };

  return {
    async start() {
      try {
        running = await launch();
        hasStarted = true;
        watchPluginProcess(running, options);
      } catch (error) {
        closed = true;
        throw error;
      }
    },
    async ask(method, args, asking = {}) {
      const { tenant = '' } = asking;
      const { peer, channel } = running ?? (await current());
      if (allPending >= maxCalls + (pending.of(tenant) < reservedEach ? reserved : 0))
        throw unavailable(`has ${maxCalls} pending calls and accepts no more; try again later`);
      if (channel.unsent() > maxUnsentBytes) throw unavailable('does not read its messages; try again later');
      allPending++;
      pending.add(tenant, 1);
      try {
        return await peer.ask(method, args, asking);
      } finally {
        allPending--;
        pending.add(tenant, -1);
      }
    },
    state: () => (running ? 'ready' : crashes.areMany() ? 'degraded' : 'restarting'),
    crashes: () => ({ count: crashes.count(), last: crashes.last() }),
    pid: () => running?.child.pid,
    async close() {
      closed = true;
      clearTimeout(timer);
      const process = running ?? starting;
      if (!process) return;
      const { child } = process;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      endPluginProcess(process, 'it is closed');
      await gone;
    },
  };
}

/** Counts the crashes of one plugin's processes, and decides when the next process starts. */
function createCrashes() {
  let pauseMs = firstPauseMs;
  let count = 0;
  let last: string | undefined;
  const latest: number[] = [];
  const areMany = () => latest.length > maxCrashes && performance.now() - (latest[0] ?? 0) < crashWindowMs;
  return {
    /** Returns how long to wait before the next start, ms. */
    add(reason: string, ranMs: number): number {
      count++;
      last = reason;
      latest.push(performance.now());
      if (latest.length > maxCrashes + 1) latest.shift();
      if (ranMs > settledMs) pauseMs = firstPauseMs;
      const waitMs = areMany() ? probePauseMs : pauseMs;
      pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      return waitMs;
    },
    count: () => count,
    last: () => last,
    areMany,
  };
}
