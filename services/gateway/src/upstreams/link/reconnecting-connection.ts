import { AppError } from '@harness/contracts';
import type { Connection, ConnectionEvents } from '../connection/connect.ts';
import { backOffMs } from './back-off.ts';

/** State of a channel. */
export type ChannelState = 'idle' | 'connecting' | 'ready' | 'waiting' | 'closed';

/** What a channel needs. */
export interface ChannelDeps {
  name: string;
  /** Whether it is opened again by itself. */
  isKept: boolean;
  open(events: ConnectionEvents, signal: AbortSignal): Promise<Connection>;
  /** Runs on every new connection before any request; if it rejects, the connection counts as failed. */
  prepare?(connection: Connection, signal: AbortSignal): Promise<void>;
  onListChanged?(): void;
  onResourceUpdated?(uri: string): void;
  /** Replaces secrets. */
  scrub<T>(value: T): T;
  logger: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    debug(fields: object, message: string): void;
  };
}

/** The connection of a channel: opened, lost, and opened again. */
export interface ReconnectingConnection {
  readonly state: ChannelState;
  readonly current: Connection | undefined;
  readonly lastError: string | undefined;
  /** How many connections were lost. */
  readonly losses: number;
  start(): void;
  /** The connection, waiting for one that is being opened. Rejects with `plugin_unavailable`, or the signal's reason. */
  ready(signal: AbortSignal | undefined): Promise<Connection>;
  /** Closes this connection, if it is still the current one, and waits before the next attempt. `isLoss`: counts it as lost. */
  giveUp(connection: Connection | undefined, why: string, more?: { isLoss: boolean }): void;
  reconnect(): void;
  close(): Promise<void>;
}

/** A connection that held this long was good: the next attempt after its end comes soon, ms. */
const stableMs = 60_000;

/** Creates it, idle. `onOpened`: called for each new connection; `onLog`: for each log message of the server. */
export function createReconnectingConnection(
  deps: ChannelDeps & { onOpened(): void; onLog: ConnectionEvents['onLog'] },
): ReconnectingConnection {
  const { name, logger } = deps;
  const ended = new AbortController();
  let state: ChannelState = 'idle';
  let current: Connection | undefined;
  let lastError: string | undefined;
  let attempt: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let [retryAt, openedAt, failures, losses] = [0, 0, 0, 0];

  const failed = (error: unknown) => {
    if (current && performance.now() - openedAt > stableMs) failures = 0;
    current = undefined;
    failures += 1;
    lastError = deps.scrub(error instanceof Error ? error.message : String(error));
    if (ended.signal.aborted) return;
    logger.warn({ upstream: name, error: lastError, failures }, 'upstream not connected');
    if (!deps.isKept) {
      state = 'idle';
      return;
    }
    const waitMs = backOffMs(failures);
    retryAt = performance.now() + waitMs;
    clearTimeout(timer);
    timer = setTimeout(() => void connect(), waitMs).unref();
    state = 'waiting';
  };
  const connect = (): Promise<void> => {
    if (ended.signal.aborted) return Promise.resolve();
    clearTimeout(timer);
    attempt ??= openOne().finally(() => {
      attempt = undefined;
    });
    return attempt;
  };
  const openOne = async () => {
    state = 'connecting';
    let opened: Connection | undefined;
    let isDropped = false;
    // Events of a connection that was given up no longer concern this channel.
    const events = eventsOf(() => !isDropped && (current === undefined || current === opened));
    try {
      opened = await deps.open(events, ended.signal);
      await deps.prepare?.(opened, ended.signal);
      if (ended.signal.aborted) return void opened.close().catch(() => undefined);
      current = opened;
      openedAt = performance.now();
      lastError = undefined;
      deps.onOpened();
      const { era, server } = opened;
      logger.info({ upstream: name, era, server: deps.scrub(server) }, 'upstream connected');
      state = 'ready';
    } catch (error) {
      isDropped = true;
      opened?.close().catch(() => undefined);
      failed(error);
    }
  };
  const eventsOf = (isCurrent: () => boolean): ConnectionEvents => ({
    onListChanged: () => isCurrent() && deps.onListChanged?.(),
    onResourceUpdated: (uri) => isCurrent() && deps.onResourceUpdated?.(uri),
    onLog: deps.onLog,
    onError: (error) =>
      logger.debug({ upstream: name, error: deps.scrub(error.message) }, 'upstream: trouble'),
    onClosed(why) {
      if (!current || !isCurrent()) return;
      losses += 1;
      failed(why ?? new Error('the connection has ended'));
    },
  });
  const drop = () => {
    const old = current;
    current = undefined;
    return old?.close().catch(() => undefined);
  };

  return {
    get state() {
      return state;
    },
    get current() {
      return current;
    },
    get lastError() {
      return lastError;
    },
    get losses() {
      return losses;
    },
    start: () => void connect(),
    async ready(signal) {
      // The first end of a connection may be an accident, which the next caller need not wait for.
      if (state === 'idle' || (state === 'waiting' && failures <= 1)) void connect();
      if (attempt) await untilDone(attempt, signal);
      if (current) return current;
      throw notConnected(name, lastError, state === 'waiting' ? retryAt : undefined);
    },
    giveUp(connection, why, { isLoss } = { isLoss: true }) {
      if (!current || connection !== current) return;
      if (isLoss) losses += 1;
      const old = current;
      failed(new Error(why));
      old.close().catch(() => undefined);
    },
    reconnect() {
      failures = 0;
      void drop();
      if (!attempt) void connect();
    },
    async close() {
      ended.abort(new Error('the upstream is closed'));
      clearTimeout(timer);
      state = 'closed';
      await Promise.all([drop(), attempt]);
    },
  };
}

/** `retryAt`: when the next attempt begins (`performance.now()`), if there is one. */
function notConnected(name: string, lastError = 'it is closed', retryAt?: number): AppError {
  if (retryAt === undefined)
    return new AppError('plugin_unavailable', `${name} is not connected: ${lastError}.`);
  const retryAfterMs = Math.max(0, Math.ceil(retryAt - performance.now()));
  const message = `${name} is not connected: ${lastError}. It is tried again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  return new AppError('plugin_unavailable', message, { retryAfterMs });
}

/** Waits, at most until the signal aborts; then throws its reason. */
async function untilDone(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return work;
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
