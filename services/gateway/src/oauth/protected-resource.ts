import { AppError } from '@harness/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Scope, scopes } from '../http/credentials/scopes.ts';
import type { OAuthSettings } from './settings.ts';

const wellKnown = '/.well-known/oauth-protected-resource';

/** Scopes that a client of /mcp requests; the others are for REST only. */
const mcpScopes: readonly Scope[] = ['tools', 'tasks', 'threads'];

/**
 * Adds the protected resource metadata (RFC 9728), which names the authorization server. Public, because a
 * client reads it before it has a token.
 */
export function addProtectedResourceRoutes(app: FastifyInstance, settings: OAuthSettings | undefined): void {
  const add = (url: string, transport: keyof OAuthSettings['resources'], supported: readonly Scope[]) =>
    app.get(url, { config: { public: true }, schema: { hide: true } }, async (_request, reply) => {
      if (!settings)
        throw new AppError('not_found', 'No authorization server is configured: use an API key.');
      reply.header('Cache-Control', 'public, max-age=300');
      return {
        resource: settings.resources[transport],
        authorization_servers: [settings.issuer],
        scopes_supported: supported,
        bearer_methods_supported: ['header'],
        resource_name: 'harness',
        resource_documentation: `${settings.publicUrl}/docs`,
      };
    });
  add(wellKnown, 'rest', scopes);
  add(`${wellKnown}/mcp`, 'mcp', mcpScopes);
}

/**
 * Returns the `WWW-Authenticate` header (RFC 6750) for a missing or invalid credential or a missing scope,
 * from which an OAuth client learns where to get a token; undefined for other errors.
 */
export function challengeOf(
  error: AppError,
  { url, headers }: Pick<FastifyRequest, 'url' | 'headers'>,
  settings: OAuthSettings | undefined,
): string | undefined {
  const missing = (error.details as { scope?: Scope } | undefined)?.scope;
  const lacksScope = error.code === 'forbidden' && missing !== undefined;
  if (error.code !== 'unauthorized' && !lacksScope) return undefined;
  const path = url.split('?')[0] === '/mcp' ? '/mcp' : '';
  const parts = [
    ...(lacksScope ? ['error="insufficient_scope"', `scope="${missing}"`] : []),
    ...(!lacksScope && headers.authorization !== undefined ? ['error="invalid_token"'] : []),
    ...(settings ? [`resource_metadata="${settings.publicUrl}${wellKnown}${path}"`] : []),
  ];
  return ['Bearer', parts.join(', ')].filter(Boolean).join(' ');
}
