/**
 * A connection to an upstream that is opened again after it has ended: with growing waits, and at once for a call that comes
 * after the first end.
 *
 * States: idle -> connecting -> ready -> waiting -> connecting …; closed from any. A line that is not `kept` goes back to idle
 * instead of waiting, and is opened by the next request.
 */
import { AppError } from '@harness/contracts';
import type { Connection, ConnectionEvents, RawResult } from '../connection/connect.ts';
import { backOffMs } from './back-off.ts';
import { createBreaker } from './breaker.ts';
import { failureOf } from './request-failure.ts';

/** One request; plain JSON, so that it can also travel to another gateway. */
export interface LineRequest {
  method: string;
  params: RawResult;
  timeoutMs: number;
  headers?: Record<string, string> | undefined;
}

/** What the caller of a request hears meanwhile. */
export interface RequestHooks {
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: RawResult) => void) | undefined;
  /** A log line of the upstream that belongs to this request. */
  onLog?: ((params: RawResult) => void) | undefined;
  /** Who asks: log lines reach a caller only while nobody else's requests are open. */
  caller: string;
}

/** State of a line. */
export type LineState = 'idle' | 'connecting' | 'ready' | 'waiting' | 'closed';

/** A connection that heals. */
export interface Line {
  readonly state: LineState;
  readonly connection: Connection | undefined;
  /** Scrubbed; undefined while all is well. */
  readonly lastError: string | undefined;
  /** How many connections were lost. */
  readonly losses: number;
  /** Requests that have no answer yet. */
  readonly open: number;
  /** When the last request ended (`performance.now()`). */
  readonly usedAt: number;
  start(): void;
  /** Rejects with AppError: the upstream's own error, `plugin_unavailable`, `tool_timeout`, `limit_reached`, or the signal's reason. */
  request(request: LineRequest, hooks: RequestHooks): Promise<RawResult>;
  reconnect(): void;
  close(): Promise<void>;
}

/** What a line needs. */
export interface LineDeps {
  name: string;
  /** Whether it is opened again by itself. */
  isKept: boolean;
  open(events: ConnectionEvents, signal: AbortSignal): Promise<Connection>;
  /** Runs on every new connection before any request; if it rejects, the connection counts as failed. */
  prepare?(connection: Connection, signal: AbortSignal): Promise<void>;
  onListChanged?(): void;
  onResourceUpdated?(uri: string): void;
  /** The state or the last error has changed. */
  onChanged?(): void;
  /** Replaces secrets. */
  scrub(text: string): string;
  logger: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    debug(fields: object, message: string): void;
  };
}

/** Requests in progress on one line; a slow upstream must not hold all calls of the gateway. */
const maxOpen = 200;

/** Creates a line, idle. */
export function createLine(deps: LineDeps): Line {
  const { name, logger } = deps;
  const breaker = createBreaker();
  const ended = new AbortController();
  const asking = new Set<RequestHooks>();
  let state: LineState = 'idle';
  let connection: Connection | undefined;
  let lastError: string | undefined;
  let attempt: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let retryAt = 0;
  let failures = 0;
  let losses = 0;
  let usedAt = performance.now();

  const become = (next: LineState) => {
    state = next;
    deps.onChanged?.();
  };
  const failed = (error: unknown) => {
    connection = undefined;
    failures += 1;
    lastError = deps.scrub(error instanceof Error ? error.message : String(error));
    if (ended.signal.aborted) return;
    logger.warn({ upstream: name, error: lastError, failures }, 'upstream not connected');
    if (!deps.isKept) return become('idle');
    const waitMs = backOffMs(failures);
    retryAt = performance.now() + waitMs;
    clearTimeout(timer);
    timer = setTimeout(() => void connect(), waitMs).unref();
    become('waiting');
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
    become('connecting');
    let opened: Connection | undefined;
    let isDropped = false;
    // Events of a connection that was given up are no longer of this line.
    const events = eventsOf(() => !isDropped && (connection === undefined || connection === opened));
    try {
      opened = await deps.open(events, ended.signal);
      await deps.prepare?.(opened, ended.signal);
      if (ended.signal.aborted) return void opened.close().catch(() => undefined);
      connection = opened;
      failures = 0;
      lastError = undefined;
      breaker.connected();
      const { era, server } = opened;
      logger.info({ upstream: name, era, server }, 'upstream connected');
      become('ready');
    } catch (error) {
      isDropped = true;
      opened?.close().catch(() => undefined);
      failed(error);
    }
  };
  const eventsOf = (isCurrent: () => boolean): ConnectionEvents => ({
    onListChanged: () => isCurrent() && deps.onListChanged?.(),
    onResourceUpdated: (uri) => isCurrent() && deps.onResourceUpdated?.(uri),
    onLog(params) {
      const callers = new Set([...asking].map(({ caller }) => caller));
      if (callers.size === 1) for (const { onLog } of asking) onLog?.(params);
    },
    onError: (error) =>
      logger.debug({ upstream: name, error: deps.scrub(error.message) }, 'upstream: trouble'),
    onClosed() {
      if (!connection || !isCurrent()) return;
      losses += 1;
      failed(new Error('the connection has ended'));
    },
  });
  const giveUp = (why: Error) => {
    const old = connection;
    if (!old) return;
    connection = undefined;
    old.close().catch(() => undefined);
    failed(why);
  };
  /** The connection, waiting for one that is being opened. */
  const ready = async (signal: AbortSignal | undefined): Promise<Connection> => {
    if (state === 'idle' || (state === 'waiting' && failures <= 1)) void connect();
    if (attempt) await untilDone(attempt, signal);
    if (connection) return connection;
    const inMs = Math.max(0, retryAt - performance.now());
    const retry = state === 'waiting' ? ` It is tried again in ${Math.ceil(inMs / 1000)} s.` : '';
    throw new AppError(
      'plugin_unavailable',
      `${name} is not connected: ${lastError ?? 'it is closed'}.${retry}`,
      {
        ...(state === 'waiting' && { retryAfterMs: Math.ceil(inMs) }),
      },
    );
  };

  const once = async (request: LineRequest, hooks: RequestHooks) => {
    const { method, params, timeoutMs, headers } = request;
    const used = await ready(hooks.signal);
    asking.add(hooks);
    try {
      const result = await used.request(method, params, {
        signal: hooks.signal,
        timeoutMs,
        headers,
        ...(hooks.onProgress && { onProgress: hooks.onProgress as never }),
      });
      breaker.answered();
      return { result };
    } catch (thrown) {
      return { failure: failureOf(thrown, name, hooks.signal), used };
    } finally {
      asking.delete(hooks);
      usedAt = performance.now();
    }
  };

  return {
    get state() {
      return state;
    },
    get connection() {
      return connection;
    },
    get lastError() {
      return lastError;
    },
    get losses() {
      return losses;
    },
    get open() {
      return asking.size;
    },
    get usedAt() {
      return usedAt;
    },
    start: () => void connect(),
    async request(request, hooks) {
      if (asking.size >= maxOpen)
        throw new AppError('limit_reached', `${name} has ${maxOpen} calls in progress. Try again later.`);
      let outcome = await once(request, hooks);
      if (outcome.failure?.kind === 'session-lost') {
        if (outcome.used === connection) giveUp(new Error('its server has ended the session'));
        if (!deps.isKept)
          throw new AppError(
            'plugin_unavailable',
            `${name} has ended its session: what it held for this thread is lost, and this call was not made. Begin again.`,
          );
        outcome = await once(request, hooks);
      }
      if (outcome.result) return outcome.result;
      const { failure, used } = outcome;
      if (failure.kind === 'answered') breaker.answered();
      else if (failure.kind !== 'cancelled' && breaker.failed() && used === connection)
        giveUp(new Error(`it did not answer: ${deps.scrub(failure.error.message)}`));
      throw failure.error;
    },
    reconnect() {
      failures = 0;
      if (connection) {
        const old = connection;
        connection = undefined;
        old.close().catch(() => undefined);
      }
      if (!attempt) void connect();
    },
    async close() {
      ended.abort(new Error('the upstream is closed'));
      clearTimeout(timer);
      become('closed');
      const old = connection;
      connection = undefined;
      await Promise.all([old?.close().catch(() => undefined), attempt]);
    },
  };
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
