/**
 * OAuth settings: whose access tokens this gateway accepts, and under which names.
 *
 * This folder:
 *   access-tokens.ts        verifies access tokens
 *   discover.ts             finds the keys of an issuer
 *   protected-resource.ts   metadata for clients (RFC 9728); WWW-Authenticate
 */
import { ConfigError } from '@harness/runtime';

/** The authorization server, and the identifiers of this gateway there. */
export interface OAuthSettings {
  /** Exactly as in the tokens' `iss`. */
  issuer: string;
  /** URL of its keys; undefined = take it from the issuer's metadata. */
  jwksUrl: string | undefined;
  /** A token must have one of these in `aud`. */
  audiences: readonly string[];
  /** The resource that a client requests a token for (RFC 8707), by transport. */
  resources: { rest: string; mcp: string };
  /** The origin at which callers reach this gateway. */
  publicUrl: string;
  tenantClaim: string;
  /** Tenant of tokens without that claim; undefined = such tokens are refused. */
  tenant: string | undefined;
}

interface OAuthEnv {
  PORT: number;
  HOST: string;
  HARNESS_PUBLIC_URL?: string | undefined;
  HARNESS_OAUTH_ISSUER?: string | undefined;
  HARNESS_OAUTH_AUDIENCE?: string | undefined;
  HARNESS_OAUTH_JWKS_URL?: string | undefined;
  HARNESS_OAUTH_TENANT_CLAIM: string;
  HARNESS_OAUTH_TENANT?: string | undefined;
}

/** Host names that mean this machine. */
export const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '[::1]', 'localhost']);

/**
 * Whether keys may be fetched from the URL: https, or http on loopback. Keys from plain http could be
 * replaced on the way.
 */
export function isTrustedUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopbackHosts.has(url.hostname));
}

/**
 * Builds the settings; undefined without an issuer. Throws ConfigError for other settings without an issuer, and when the
 * public address cannot be determined.
 */
export function oauthSettingsOf(env: OAuthEnv): OAuthSettings | undefined {
  if (env.HARNESS_OAUTH_ISSUER === undefined) {
    const alone = (
      ['HARNESS_OAUTH_AUDIENCE', 'HARNESS_OAUTH_JWKS_URL', 'HARNESS_OAUTH_TENANT'] as const
    ).find((name) => env[name] !== undefined);
    if (alone)
      throw new ConfigError(
        `${alone} is set, but HARNESS_OAUTH_ISSUER is not: no access token would be accepted.`,
      );
    return undefined;
  }
  const audience = env.HARNESS_OAUTH_AUDIENCE;
  const publicUrl = publicUrlOf(env);
  const own = { rest: publicUrl, mcp: `${publicUrl}/mcp` };
  // A client refuses metadata whose resource is not at this origin (`api://…`). So the resource is this
  // address then, and the authorization server must map it to the audience.
  const isOurs = audience !== undefined && URL.parse(audience)?.origin === publicUrl;
  return {
    issuer: env.HARNESS_OAUTH_ISSUER,
    jwksUrl: env.HARNESS_OAUTH_JWKS_URL,
    audiences: (audience === undefined ? [own.rest, own.mcp] : [audience]).flatMap(bothSpellings),
    resources: isOurs ? { rest: audience, mcp: audience } : own,
    publicUrl,
    tenantClaim: env.HARNESS_OAUTH_TENANT_CLAIM,
    tenant: env.HARNESS_OAUTH_TENANT,
  };
}

/** Some clients add a closing slash to an address: accepts the audience with and without it. */
const bothSpellings = (audience: string) => {
  const bare = audience.replace(/\/$/, '');
  return /^https?:/.test(audience) ? [bare, `${bare}/`] : [audience];
};

function publicUrlOf({ HARNESS_PUBLIC_URL, HARNESS_OAUTH_AUDIENCE, HOST, PORT }: OAuthEnv): string {
  if (HARNESS_PUBLIC_URL !== undefined) return new URL(HARNESS_PUBLIC_URL).origin;
  const audience = URL.parse(HARNESS_OAUTH_AUDIENCE ?? '');
  if (audience && /^https?:$/.test(audience.protocol)) return audience.origin;
  if (loopbackHosts.has(HOST) && PORT !== 0) {
    return new URL(`http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${PORT}`).origin;
  }
  throw new ConfigError(
    'HARNESS_OAUTH_ISSUER is set, but the public address of this gateway is not known. Set HARNESS_PUBLIC_URL.',
  );
}
