/**
 * `fetch` towards a gateway that may go away and come back: it waits and tries again where that is safe, and keeps an MCP
 * session alive that the gateway has forgotten, so that the SDK's transport above it never notices.
 *
 * Safe = it was never sent, or it may be done twice. Of what may have been done once, the caller is told that nobody knows.
 */
import { setTimeout as after } from 'node:timers/promises';
import { isInitializeRequest, isJSONRPCRequest, type RequestId } from '@modelcontextprotocol/sdk/types.js';

export interface GatewayFetch {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Gives up a request that waits for the gateway and was never answered; false when none of this id waits. */
  giveUp(id: RequestId): boolean;
}

export interface GatewayFetchDeps {
  /** For people, on standard error. */
  say(line: string): void;
  /** Whether a message may be sent twice. */
  mayRepeat(message: unknown): boolean;
  /** The standing stream is open again: what was said meanwhile was missed. */
  onBack(): void;
  /** An answer that was under way is lost: by the id of the last event of its stream. */
  onLost(lastEventId: string): void;
}

const firstDelayMs = 250;
const longestDelayMs = 10_000;
const sessionHeader = 'mcp-session-id';

/** Failures to connect: nothing was sent. */
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

export function createGatewayFetch(deps: GatewayFetchDeps): GatewayFetch {
  const { say } = deps;
  const waiting = new Map<RequestId, AbortController>();
  let away = false;
  /** When the standing stream is opened next, something may have been missed. */
  let missed = false;
  let session: string | undefined;
  let beginning: { url: string | URL; init: RequestInit } | undefined;
  let renewing: Promise<void> | undefined;
  /** Ends the standing stream, so that the transport opens another. */
  let standing: AbortController | undefined;

  const report = (why: string) => {
    if (!away) say(`the gateway does not answer (${why}); trying again until it does`);
    away = true;
    missed = true;
  };
  const isBack = () => {
    if (away) say('the gateway answers again');
    away = false;
  };

  /** One request, sent until it is answered, or until it would not be safe to send it again. */
  const persist = async (url: string | URL, init: RequestInit, message: unknown): Promise<Response> => {
    for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, longestDelayMs)) {
      try {
        const response = await fetch(url, init);
        const later = response.status === 503 && deps.mayRepeat(message);
        if (!later) {
          isBack();
          return response;
        }
        await response.body?.cancel();
        report('503');
      } catch (error) {
        const code = codeOf(error);
        if (init.signal?.aborted || !(unsent.has(code) || deps.mayRepeat(message))) throw error;
        report(code);
      }
      await after(delayMs * (0.5 + Math.random() / 2), undefined, init.signal ? { signal: init.signal } : {});
    }
  };

  /** Begins the session anew, with what the client said when it began the first. */
  const renew = async () => {
    if (!beginning) throw new Error('there is no session to begin anew');
    const { url, init } = beginning;
    const response = await persist(url, init, undefined);
    await response.text();
    session = response.headers.get(sessionHeader) ?? undefined;
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await (await persist(url, withSession({ ...init, body }), undefined)).text();
    say('the gateway had forgotten the session; it is a new one now');
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
      const response = await persist(url, init, message);
      session = response.headers.get(sessionHeader) ?? undefined;
      return response;
    }
    for (;;) {
      const used = session;
      const response = await persist(url, withSession(init), message);
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

  /** The standing stream, or the rest of an answer that was cut. */
  const openStream = async (url: string | URL, init: RequestInit): Promise<Response> => {
    const lastEventId = new Headers(init.headers).get('last-event-id');
    const own = new AbortController();
    const signal = init.signal ? AbortSignal.any([init.signal, own.signal]) : own.signal;
    const response = await send(url, { ...init, signal }, undefined);
    if (response.ok) {
      if (lastEventId === null) {
        standing = own;
        if (missed) deps.onBack();
        missed = true; // it is opened again only when it was broken
      }
      return response;
    }
    if (lastEventId === null) return response;
    await response.body?.cancel();
    deps.onLost(lastEventId);
    return new Response(null, { status: 405 }); // the transport takes this for "no stream here", and lets it be
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
      const found = away && waiting.get(id);
      if (!found) return false;
      found.abort();
      return true;
    },
  };
}

/** A refusal as the answer to its request: in the gateway's own words where it says any. */
async function refusal(id: RequestId, response: Response): Promise<Response> {
  const text = await response.text();
  const error = errorIn(text) ?? { code: -32000, message: `The gateway answers ${response.status}.` };
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
    return undefined; // no JSON: a proxy's page
  }
}
