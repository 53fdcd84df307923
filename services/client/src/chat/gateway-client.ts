/** REST calls to the gateway. */
import { GatewayRefusal } from '@harness/runtime';

/** The gateway is unreachable or temporarily unavailable (502, 503, 504); a retry may help. */
export class GatewayAway extends Error {
  override name = 'GatewayAway';
}

/** A gateway and its credentials. */
export interface GatewayClient {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** Sends and returns JSON. Throws GatewayAway, and GatewayRefusal for another status that is not 2xx. */
  call<T>(method: 'GET' | 'POST' | 'PATCH', path: string, request?: GatewayRequest): Promise<T>;
  /** Sends and returns anything; throws likewise. */
  send(method: 'GET' | 'PUT', path: string, request?: RawRequest): Promise<Response>;
}

/** A request with a body of any kind. */
export interface RawRequest {
  body?: ReadableStream;
  headers?: Record<string, string>;
}

/** A request; `timeoutMs` defaults to 30 000. */
export interface GatewayRequest {
  body?: object;
  headers?: Record<string, string>;
  timeoutMs?: number;
}

const defaultTimeoutMs = 30_000;
/** For a large file over a slow line. */
const rawTimeoutMs = 600_000;
const awayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

/** Creates a client; it does not connect yet. */
export function createGatewayClient(url: string, apiKey: string | undefined): GatewayClient {
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(url + path, init).catch((error: Error) => {
      throw new GatewayAway(reasonOf(error), { cause: error });
    });
    if (response.ok) return response;
    const message = messageIn(await textOf(response)) ?? `${init.method} ${path}: ${response.status}`;
    if (awayStatuses.has(response.status)) throw new GatewayAway(message);
    throw new GatewayRefusal(response.status, message);
  };
  return {
    url,
    headers,
    async call<T>(method: string, path: string, request: GatewayRequest = {}) {
      const { body, timeoutMs = defaultTimeoutMs } = request;
      const response = await ask(path, {
        method,
        headers: {
          ...headers,
          ...request.headers,
          accept: 'application/json',
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      return JSON.parse(await textOf(response)) as T;
    },
    send: (method, path, { body, headers: more } = {}) =>
      ask(path, {
        method,
        headers: { ...headers, ...more },
        ...(body && { body, duplex: 'half' }),
        signal: AbortSignal.timeout(rawTimeoutMs),
      } as RequestInit),
  };
}

const textOf = (response: Response): Promise<string> =>
  response.text().catch((error: Error) => {
    throw new GatewayAway(reasonOf(error), { cause: error });
  });

/** The cause's message if there is one, because `fetch failed` explains nothing. */
export const reasonOf = (error: Error): string =>
  error.cause instanceof Error ? error.cause.message || error.cause.name : error.message;

function messageIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { error?: { message?: string } }).error?.message;
  } catch {
    return undefined; // not JSON, e.g. a proxy's page
  }
}
