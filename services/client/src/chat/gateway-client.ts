/** The gateway's REST, as the terminal uses it. */
import { GatewayRefusal } from '@harness/runtime';

/** Nobody answers, or the gateway cannot do its work just now: trying again may help. */
export class GatewayAway extends Error {
  override name = 'GatewayAway';
}

export interface GatewayClient {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** JSON in and out. Throws GatewayAway and GatewayRefusal. */
  call<T>(method: 'GET' | 'POST' | 'PATCH', path: string, request?: GatewayRequest): Promise<T>;
}

export interface GatewayRequest {
  body?: object;
  headers?: Record<string, string>;
  timeoutMs?: number;
}

const defaultTimeoutMs = 30_000;
const awayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

export function createGatewayClient(url: string, apiKey: string | undefined): GatewayClient {
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  return {
    url,
    headers,
    async call<T>(method: string, path: string, request: GatewayRequest = {}) {
      const { body, timeoutMs = defaultTimeoutMs } = request;
      const response = await fetch(url + path, {
        method,
        headers: {
          ...headers,
          ...request.headers,
          accept: 'application/json',
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      }).catch((error: Error) => {
        throw new GatewayAway(reasonOf(error), { cause: error });
      });
      const text = await response.text().catch((error: Error) => {
        throw new GatewayAway(reasonOf(error), { cause: error });
      });
      if (response.ok) return JSON.parse(text) as T;
      const message = messageIn(text) ?? `${method} ${path}: ${response.status}`;
      if (awayStatuses.has(response.status)) throw new GatewayAway(message);
      throw new GatewayRefusal(response.status, message);
    },
  };
}

/** `fetch failed` says nothing; its cause does. */
export const reasonOf = (error: Error): string =>
  error.cause instanceof Error ? error.cause.message || error.cause.name : error.message;

function messageIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { error?: { message?: string } }).error?.message;
  } catch {
    return undefined; // a proxy's page
  }
}
