/**
 * `fetch` for a gateway that may be unreachable for a time. It retries if that is safe, and opens a new MCP session if the
 * gateway no longer knows the current one, so that the SDK's transport does not notice.
 *
 * A retry is safe if the request was never sent, or may run twice. Otherwise the request fails, because its outcome is
 * unknown.
 */
import { setTimeout as after } from 'node:timers/promises';
import { isInitializeRequest, isJSONRPCRequest, type RequestId } from '@modelcontextprotocol/sdk/types.js';

/** `fetch` with retries. */
export interface GatewayFetch {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Stops the retries of a request while the gateway is unreachable; false if no such request waits. */
  giveUp(id: RequestId): boolean;
}

/** What the fetch needs, and its callbacks. */
export interface GatewayFetchDeps {
  /** Writes a line for people, to standard error. */
  log(line: string): void;
  /** Whether a message may be sent twice. */
  mayRepeat(message: unknown): boolean;
  /** The standing stream is open again; notifications in between were missed. */
  onBack(): void;
  /** A response is lost; identified by the last event id of its stream. */
  onLost(lastEventId: string): void;
}

const sessionHeader = 'mcp-session-id';

/** Creates the fetch of one MCP session. */
export function createGatewayFetch(deps: GatewayFetchDeps): GatewayFetch {
  const { log } = deps;
  const persistent = createPersistentFetch(deps);
  const waiting = new Map<RequestId, AbortController>();
  let session: string | undefined;
  let beginning: { url: string | URL; init: RequestInit } | undefined;
  let renewing: Promise<void> | undefined;
  /** Aborts the standing stream, so that the transport opens a new one. */
  let standing: AbortController | undefined;

  /** Opens a new session with the client's original initialize request. */
  const renew = async () => {
    if (!beginning) throw new Error('there is no session to renew');
    const { url, init } = beginning;
    const response = await persistent.fetch(url, init, undefined);
    await response.text();
    session = response.headers.get(sessionHeader) ?? undefined;
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await (await persistent.fetch(url, withSession({ ...init, body }), undefined)).text();
    log('the gateway no longer knew the session; opened a new one');
    standing?.abort();
  };
  const withSession = (init: RequestInit): RequestInit => {
    const headers = new Headers(init.headers);
    if (session !== undefined) headers.set(sessionHeader, session);
    return { ...init, headers };
  };

  const send = async (url: string | URL, init: RequestInit, message: unknown): Promise<Response> => {
    if (isInitializeRequest(message)) {
      beginning = { url, init };
      session = undefined;
      const response = await persistent.fetch(url, init, message);
      session = response.headers.get(sessionHeader) ?? undefined;
      return response;
    }
    for (;;) {
      const used = session;
      const response = await persistent.fetch(url, withSession(init), message);
      if (response.status !== 404 || used === undefined || init.method === 'DELETE') return response;
      await response.body?.cancel();
      if (session === used) {
        renewing ??= renew().finally(() => {
          renewing = undefined;
        });
        await renewing;
      }
    }
  };

  /** Opens the standing stream, or resumes an interrupted response. */
  const openStream = async (url: string | URL, init: RequestInit): Promise<Response> => {
    const lastEventId = new Headers(init.headers).get('last-event-id');
    const own = new AbortController();
    const signal = init.signal ? AbortSignal.any([init.signal, own.signal]) : own.signal;
    const response = await send(url, { ...init, signal }, undefined);
    if (response.ok) {
      if (lastEventId === null) {
        standing = own;
        if (persistent.streamOpened()) deps.onBack();
      }
      return response;
    }
    if (lastEventId === null) return response;
    await response.body?.cancel();
    deps.onLost(lastEventId);
    return new Response(null, { status: 405 }); // the transport takes 405 as "no stream" and stops
  };

  return {
    async fetch(url, init = {}) {
      const message = typeof init.body === 'string' ? JSON.parse(init.body) : undefined;
      if (init.method === 'GET') return openStream(url, init);
      if (!isJSONRPCRequest(message)) return send(url, init, message);
      const giveUp = new AbortController();
      waiting.set(message.id, giveUp);
      const signal = init.signal ? AbortSignal.any([init.signal, giveUp.signal]) : giveUp.signal;
      try {
        const response = await send(url, { ...init, signal }, message);
        return response.ok ? response : await refusal(message.id, response);
      } finally {
        waiting.delete(message.id);
      }
    },
    giveUp(id) {
      const found = persistent.isAway() && waiting.get(id);
      if (!found) return false;
      found.abort();
      return true;
    },
  };
}

const firstDelayMs = 250;
const longestDelayMs = 10_000;

/** Errors before anything was sent. */
const unsent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const codeOf = (error: unknown) =>
  (error as { cause?: { code?: string } }).cause?.code ?? 'connection broken';

/** `fetch` that repeats a request while the gateway is unreachable. */
function createPersistentFetch({ log, mayRepeat }: Pick<GatewayFetchDeps, 'log' | 'mayRepeat'>) {
  let away = false;
  /** Notifications may have been missed before the standing stream opens again. */
  let missed = false;
  const reportAway = (why: string) => {
    if (!away) log(`the gateway does not respond (${why}); trying again until it does`);
    away = true;
    missed = true;
  };
  const reportBack = () => {
    if (away) log('the gateway responds again');
    away = false;
  };
  return {
    isAway: () => away,
    /** The standing stream is open. Returns whether notifications may have been missed before. */
    streamOpened(): boolean {
      const before = missed;
      missed = true; // it opens again only after a break
      return before;
    },
    /** Sends a request until there is a response, or until a retry would not be safe. */
    async fetch(url: string | URL, init: RequestInit, message: unknown): Promise<Response> {
      for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, longestDelayMs)) {
        try {
          const response = await fetch(url, init);
          const later = response.status === 503 && mayRepeat(message);
          if (!later) {
            reportBack();
            return response;
          }
          await response.body?.cancel();
          reportAway('503');
        } catch (error) {
          const code = codeOf(error);
          if (init.signal?.aborted || !(unsent.has(code) || mayRepeat(message))) throw error;
          reportAway(code);
        }
        const delay = delayMs * (0.5 + Math.random() / 2);
        await after(delay, undefined, init.signal ? { signal: init.signal } : {});
      }
    },
  };
}

/** Converts an HTTP error to a JSON-RPC error response, with the gateway's own message if there is one. */
async function refusal(id: RequestId, response: Response): Promise<Response> {
  const text = await response.text();
  const error = errorIn(text) ?? {
    code: -32000,
    message: `The gateway responded with HTTP status ${response.status}.`,
  };
  return Response.json({ jsonrpc: '2.0', id, error });
}

function errorIn(text: string): { code: number; message: string; data?: unknown } | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code: number | string; message: string } };
    if (typeof error?.message !== 'string') return undefined;
    return typeof error.code === 'number'
      ? { ...error, code: error.code }
      : { code: -32000, message: error.message, data: { code: error.code } };
  } catch {
    return undefined; // not JSON, e.g. a proxy's page
  }
}
