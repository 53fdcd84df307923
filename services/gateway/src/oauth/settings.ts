import { ConfigError } from '@harness/runtime';

/** The authorization server whose access tokens we accept, and the names under which it knows us. */
export interface OAuthSettings {
  /** As the tokens' `iss` spells it. */
  issuer: string;
  /** Where its keys are; unset: its metadata says it. */
  jwksUrl: string | undefined;
  /** A token is ours when its `aud` holds one of these. */
  audiences: readonly string[];
  /** What a client asks a token for (RFC 8707), by door. */
  resources: { rest: string; mcp: string };
  /** The origin under which callers reach us. */
  publicUrl: string;
  tenantClaim: string;
  /** Tenant of tokens without that claim. Unset: they are refused, since whose they are is anybody's guess. */
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

export const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '[::1]', 'localhost']);

/** Keys that came over plain http would let the network mint tokens. */
export function isTrustedUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopbackHosts.has(url.hostname));
}

/** An origin and nothing else: the well-known paths of RFC 9728 start at the root. */
export const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
};

/** Undefined without an issuer: then only API keys are accepted. Throws ConfigError. */
export function oauthSettingsOf(env: OAuthEnv): OAuthSettings | undefined {
  if (env.HARNESS_OAUTH_ISSUER === undefined) return undefined;
  const audience = env.HARNESS_OAUTH_AUDIENCE;
  const publicUrl = publicUrlOf(env);
  const own = { rest: publicUrl, mcp: `${publicUrl}/mcp` };
  // A client refuses metadata that name a resource elsewhere (`api://…`): it asks for our address then, and the
  // authorization server knows which audience that is.
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

/** Clients normalise an address by a closing slash, and authorization servers do not: both mean the same. */
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
    'HARNESS_OAUTH_ISSUER is set, but not under which address callers know this gateway. Set HARNESS_PUBLIC_URL.',
  );
}
