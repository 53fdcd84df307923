import { z } from 'zod';
import { isTrustedUrl } from './settings.ts';

const Metadata = z.object({ issuer: z.string(), jwks_uri: z.string().refine(isTrustedUrl, 'is not https') });

/**
 * The URLs at which an issuer may have its metadata: RFC 8414, and both forms of OpenID Connect Discovery.
 */
export function metadataUrlsOf(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(urls)];
}

/**
 * Returns the `jwks_uri` from the issuer's metadata. Throws when there is no metadata, or it names another
 * issuer.
 */
export async function discoverJwksUrl(issuer: string, limitMs: number): Promise<string> {
  const signal = AbortSignal.timeout(limitMs);
  for (const url of metadataUrlsOf(issuer)) {
    const response = await fetch(url, { redirect: 'error', signal });
    if (!response.ok) {
      await response.body?.cancel();
      continue;
    }
    const metadata = Metadata.parse(await response.json());
    if (metadata.issuer !== issuer) throw new Error(`${url} names another issuer: ${metadata.issuer}`);
    return metadata.jwks_uri;
  }
  throw new Error(`The issuer ${issuer} has no metadata at any well-known URL.`);
}
