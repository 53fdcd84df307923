/**
 * Requests to the gateway's public REST API, as the person who signed in (a cookie that scripts cannot read).
 *
 * This folder:
 *   session.ts       who uses the console, and what this person may do
 *   follow-events.ts follows an event stream
 *   use-refresh.ts   reads queries again after an event
 *   use-now.ts       the time, once a second
 *   format.ts        times, durations and numbers as people read them
 *   diagnostic.ts    why something did not load
 *   shortcuts.ts     keys and what they do
 *   theme.ts         the colours
 */
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
  /** A Blob is sent as it is, anything else as JSON. */
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

const away: ErrorBody = { code: 'unreachable', message: 'The gateway does not answer.' };

/** Sends a request and returns its JSON; undefined for an empty response. Throws ApiError. */
export async function api<T>(method: string, path: string, sent: Sent = {}): Promise<T> {
  const response = await send(method, path, sent);
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

async function send(method: string, path: string, { body, headers, signal }: Sent): Promise<Response> {
  const isFile = body instanceof Blob;
  const response = await fetch(path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body && { 'content-type': isFile ? 'application/octet-stream' : 'application/json' }),
      ...headers,
    },
    ...(body && { body: isFile ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: Error) => {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, away);
  });
  if (!response.ok) throw errorOf(response.status, await response.text());
  return response;
}

/** Longest wait for a resource, ms: a connection may be dead without an error. */
const readMs = 20_000;

/** Reads a resource. Throws ApiError. */
export const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  api<T>('GET', path, { signal: orLate(signal) });

function orLate(signal: AbortSignal | undefined): AbortSignal {
  const late = AbortSignal.timeout(readMs);
  return signal ? AbortSignal.any([signal, late]) : late;
}

/** Reads what is not JSON: its bytes, and its ETag. Throws ApiError. */
export async function getBytes(
  path: string,
  signal: AbortSignal,
): Promise<{ bytes: ArrayBuffer; etag: string | null }> {
  const response = await send('GET', path, { headers: { accept: '*/*' }, signal: orLate(signal) });
  return { bytes: await response.arrayBuffer(), etag: response.headers.get('etag') };
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
