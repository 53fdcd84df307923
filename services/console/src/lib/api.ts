/** Requests to the gateway's public REST API, as the person who signed in (a cookie that scripts cannot read). */
import type { ErrorBody } from '@harness/contracts';

/** A request that failed. `status` 0: the gateway did not answer. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: unknown;

  constructor(status: number, { code, message, details }: ErrorBody) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** What may be sent with a request. */
export interface Sent {
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

const away: ErrorBody = { code: 'unreachable', message: 'The gateway does not answer.' };

/** Sends a request and returns its JSON; undefined for an empty response. Throws ApiError. */
export async function api<T>(method: string, path: string, sent: Sent = {}): Promise<T> {
  const { body, headers, signal } = sent;
  const response = await fetch(path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: Error) => {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, away);
  });
  const text = await response.text();
  if (!response.ok) throw errorOf(response.status, text);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Longest wait for a resource, ms: a connection may be dead without an error. */
const readMs = 20_000;

/** Reads a resource. Throws ApiError. */
export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const late = AbortSignal.timeout(readMs);
  return api<T>('GET', path, { signal: signal ? AbortSignal.any([signal, late]) : late });
}

/** The failure that a response describes. */
export function errorOf(status: number, text: string): ApiError {
  try {
    return new ApiError(status, (JSON.parse(text) as { error: ErrorBody }).error);
  } catch {
    return new ApiError(status, { code: 'unknown', message: `The gateway answered with status ${status}.` });
  }
}

/** A path with the parameters that have a value. */
export function withQuery(
  path: string,
  query: Record<string, string | number | boolean | undefined>,
): string {
  const set = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}

/** What a person reads of any failure. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
