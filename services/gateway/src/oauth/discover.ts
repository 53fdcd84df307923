import { z } from 'zod';
import { isTrustedUrl } from './settings.ts';

const Metadata = z.object({ issuer: z.string(), jwks_uri: z.string().refine(isTrustedUrl, 'is not https') });

/** Where an issuer may keep its metadata: RFC 8414, and OpenID Connect in both of its spellings. */
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

/** Asks the issuer where its keys are. Throws when none of its documents says so, or one names another issuer. */
export async function discoverJwksUrl(issuer: string, limitMs: number): Promise<string> {
  const signal = AbortSignal.timeout(limitMs);
  for (const url of metadataUrlsOf(issuer)) {
    const response = await fetch(url, { redirect: 'error', signal });
    if (!response.ok) {
      await response.body?.cancel();
      continue;
    }
    const metadata = Metadata.parse(await response.json());
    if (metadata.issuer !== issuer) throw new Error(`${url} is about another issuer: ${metadata.issuer}`);
    return metadata.jwks_uri;
  }
  throw new Error(`There is no metadata of ${issuer}.`);
}
