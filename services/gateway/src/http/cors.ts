import type { FastifyReply, FastifyRequest } from 'fastify';

/** How long a browser may cache the response to a preflight, seconds. */
const maxAgeSeconds = 600;
const methods = 'GET, POST, PUT, PATCH, DELETE';
/** Response headers that a page may read. */
const exposed = 'Mcp-Session-Id, WWW-Authenticate, Content-Location, Retry-After, ETag';

/**
 * Sets the CORS headers for allowed origins, and answers preflights. Returns true for a preflight: the
 * response is sent.
 * Must run after the site check, which refuses all other origins, and before authentication: a preflight
 * carries no credential. `Allow-Credentials` is not set: the console's cookie is accepted from its own origin only.
 *
 * The headers are set on the raw response, because streams and MCP responses bypass Fastify.
 */
export function answerPage({ method, headers }: FastifyRequest, reply: FastifyReply): boolean {
  const { origin } = headers;
  if (origin === undefined) return false;
  reply.raw.setHeader('Access-Control-Allow-Origin', origin);
  reply.raw.setHeader('Access-Control-Expose-Headers', exposed);
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  reply.headers({
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': headers['access-control-request-headers'] ?? '',
    'Access-Control-Max-Age': maxAgeSeconds,
  });
  reply.code(204).send();
  return true;
}
