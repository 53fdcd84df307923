import type { FastifyReply, FastifyRequest } from 'fastify';

/** How long a browser may remember a preflight's answer, seconds. */
const maxAgeSeconds = 600;
const methods = 'GET, POST, PATCH, DELETE';
/** What a page may read besides the body: who to ask for a token, where a run is, when to come back. */
const exposed = 'Mcp-Session-Id, WWW-Authenticate, Content-Location, Retry-After';

/**
 * Lets pages of the allowed origins send requests and read our answers. Runs after the site check, which has refused
 * every other origin, and before the credential is asked for: a browser's preflight carries none. No cookie is ever
 * read here, so credentials are not allowed. True when it was a preflight, which is answered then.
 *
 * The headers stand on the raw response: streams and MCP answers are written past Fastify.
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
