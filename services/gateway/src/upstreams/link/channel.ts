/**
 * A connection to an upstream that is opened again after it has ended: with growing waits, and at once for a call that comes
 * after the first end.
 *
 * States: idle -> connecting -> ready -> waiting -> connecting …; closed from any. A channel that is not `kept` goes back to idle
 * instead of waiting, and is opened by the next request.
 */
import { AppError } from '@harness/contracts';
import type { Connection } from '../connection/connect.ts';
import type { RawResult } from '../connection/request.ts';
import { createBreaker } from './breaker.ts';
import {
  type ChannelDeps,
  type ChannelState,
  createReconnectingConnection,
} from './reconnecting-connection.ts';
import { failureOf } from './request-failure.ts';

/** One request; plain JSON, so that it can also travel to another gateway. */
export interface ChannelRequest {
  method: string;
  params: RawResult;
  timeoutMs: number;
  headers?: Record<string, string> | undefined;
  /** See `RequestOptions`. */
  capabilities?: RawResult | undefined;
  continues?: string | undefined;
}

/** What the caller of a request is notified of meanwhile. */
export interface RequestHooks {
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: RawResult) => void) | undefined;
  /** A log line of the upstream that belongs to this request. */
  onLog?: ((params: RawResult) => void) | undefined;
  /** The caller: log lines reach it only while no other caller has open requests. */
  caller: string;
}

/** Requests over one connection, which is opened again after its end. */
export interface Channel {
  readonly state: ChannelState;
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
  request(request: ChannelRequest, hooks: RequestHooks): Promise<RawResult>;
  reconnect(): void;
  close(): Promise<void>;
}

/** Requests in progress on one channel; a slow upstream must not hold all calls of the gateway. */
const maxOpen = 200;

/** Creates a channel, idle. */
export function createChannel(deps: ChannelDeps): Channel {
  const { name } = deps;
  const breaker = createBreaker();
  const asking = new Set<RequestHooks>();
  let usedAt = performance.now();
  const reconnecting = createReconnectingConnection({
    ...deps,
    onOpened: breaker.connected,
    onLog(params) {
      const callers = new Set([...asking].map(({ caller }) => caller));
      if (callers.size === 1) for (const { onLog } of asking) onLog?.(params);
    },
  });

  const once = async ({ method, params, ...options }: ChannelRequest, hooks: RequestHooks) => {
    const used = await reconnecting.ready(hooks.signal);
    asking.add(hooks);
    try {
      const result = await used.request(method, params, {
        ...options,
        signal: hooks.signal,
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
      return reconnecting.state;
    },
    get connection() {
      return reconnecting.current;
    },
    get lastError() {
      return reconnecting.lastError;
    },
    get losses() {
      return reconnecting.losses;
    },
    get open() {
      return asking.size;
    },
    get usedAt() {
      return usedAt;
    },
    start: reconnecting.start,
    async request(request, hooks) {
      if (asking.size >= maxOpen)
        throw new AppError('limit_reached', `${name} has ${maxOpen} calls in progress. Try again later.`);
      let outcome = await once(request, hooks);
      if (outcome.failure?.kind === 'session-lost') {
        // The thread of this channel gets this error once.
        reconnecting.giveUp(outcome.used, 'its server has ended the session', { isLoss: deps.isKept });
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
      else if (failure.kind !== 'cancelled' && breaker.failed())
        reconnecting.giveUp(used, `it did not answer: ${failure.error.message}`);
      throw failure.error;
    },
    reconnect: reconnecting.reconnect,
    close: reconnecting.close,
  };
}
