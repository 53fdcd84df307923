import type { OutgoingHttpHeaders } from 'node:http';
import * as http from 'node:http';
import * as https from 'node:https';
import { AppError } from '@harness/contracts';
import type { FetchLike } from '@modelcontextprotocol/client';
import { readWhole, type StreamLimits, streamOf } from './bounded-response.ts';

/** A free connection is used again for this long, ms: less than servers keep it, most of which say 5 s. */
const keptMs = 4_000;

const unlimited = { spend: () => true, idle: () => undefined };

/**
 * A fetch that reaches only the origins that the operator's file names, whatever a server, a discovery document or a redirect
 * says, follows no redirect, and reads a bounded amount. Over `node:http`, because Node's own fetch takes four times its CPU, and
 * because it leaves a listener at the signal of a connection for every request until the garbage is collected.
 */
export const createBoundedFetch = (
  origins: ReadonlySet<string>,
  { maxBytes = 16 * 1024 * 1024, budget = unlimited }: Partial<Omit<StreamLimits, 'askedBytes'>> = {},
): FetchLike => {
  // The options of Node's own agents have the proxies of the environment.
  const kept = (own: http.Agent) => ({ ...(own as { options?: object }).options, timeout: keptMs });
  const agents = {
    'http:': new http.Agent(kept(http.globalAgent)),
    'https:': new https.Agent(kept(https.globalAgent)),
  };
  return async (input, init = {}) => {
    const url = new URL(input);
    if (!origins.has(url.origin))
      throw new Error(`${url.origin} is not named in the upstreams file, so it is not called`);
    const response = await exchange(url, { init, agent: agents[url.protocol as keyof typeof agents] });
    const { statusCode = 0, headers } = response;
    if (init.redirect !== 'manual' && statusCode >= 300 && statusCode < 400 && headers.location) {
      response.destroy();
      throw refusal(`${url.origin} redirects to another address, which is not followed`);
    }
    if (statusCode < 200 || statusCode > 599) {
      response.destroy();
      throw refusal(`${url.origin} responds with ${statusCode}, which is no status of HTTP`);
    }
    const { 'content-encoding': coding = 'identity' } = headers;
    if (coding !== 'identity') {
      response.destroy();
      throw refusal(`${url.origin} has compressed its response (${coding}), which it was not asked for`);
    }
    const isStream = headers['content-type']?.startsWith('text/event-stream') === true;
    return isStream
      ? // A stream that is opened with GET carries only unrequested messages.
        streamOf(response, { maxBytes, budget, askedBytes: init.method === 'POST' ? maxBytes : 0 })
      : readWhole(response, { url: url.href, maxBytes });
  };
};

/** The upstream has responded, so this counts for no breaker: the input of a caller may have caused it. */
const refusal = (problem: string) => new AppError('tool_failed', problem);

/** Sends the request; resolves at the head of the response. The signal also ends its body. */
function exchange(
  url: URL,
  { init, agent }: { init: RequestInit; agent: http.Agent },
): Promise<http.IncomingMessage> {
  const { method = 'GET', signal } = init;
  const body = init.body == null ? undefined : String(init.body);
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  const request = (url.protocol === 'http:' ? http : https).request(
    url,
    { method, agent, headers: headersOf(init.headers, body) },
    resolve,
  );
  const abort = () => request.destroy(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  request
    .on('error', (error) => reject(reasonOf(error)))
    .once('close', () => signal?.removeEventListener('abort', abort));
  request.end(body);
  return promise;
}

/** A host with several addresses, like localhost, fails with an error that has no text and one cause for each of them. */
const reasonOf = (error: Error): Error =>
  error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;

/** The header fields; without a compression, so that the bytes that count are those that are read. */
function headersOf(given: RequestInit['headers'], body: string | undefined): OutgoingHttpHeaders {
  return {
    accept: '*/*',
    'user-agent': 'harness',
    ...Object.fromEntries(given instanceof Headers ? given : new Headers(given)),
    'accept-encoding': 'identity',
    ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
  };
}
