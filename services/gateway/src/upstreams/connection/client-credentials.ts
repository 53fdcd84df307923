import {
  type AuthProvider,
  ClientCredentialsProvider,
  discoverAuthorizationServerMetadata,
  type FetchLike,
  fetchToken,
} from '@modelcontextprotocol/client';
import type { HttpUpstream } from '../file/upstream-config.ts';

/** A token is renewed this long before it ends, ms. */
const aheadMs = 30_000;

/**
 * OAuth client credentials: access tokens of the named issuer for the upstream's own URL, kept in memory alone. The secret goes to
 * the issuer's origin only. Caller tokens are never used.
 */
export function createClientCredentials(
  { url, auth }: { url: string; auth: NonNullable<HttpUpstream['auth']> },
  { fetch: fetchFn, onToken }: { fetch: FetchLike; onToken?: ((token: string) => void) | undefined },
): AuthProvider {
  const { issuer, clientId, clientSecret, scope } = auth;
  let held: { token: string; endsAt: number } | undefined;
  let asking: Promise<string> | undefined;
  const ask = async (): Promise<string> => {
    const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn });
    if (!metadata) throw new Error(`the issuer ${issuer} has no authorization server metadata`);
    const provider = new ClientCredentialsProvider({
      clientId,
      clientSecret,
      expectedIssuer: issuer,
      ...(scope !== undefined && { scope }),
    });
    const tokens = await fetchToken(provider, issuer, {
      metadata,
      resource: new URL(url),
      fetchFn,
    });
    onToken?.(tokens.access_token);
    held = {
      token: tokens.access_token,
      endsAt: performance.now() + (tokens.expires_in ?? 3600) * 1000 - aheadMs,
    };
    return held.token;
  };
  const fresh = () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  return {
    token: async () => (held && held.endsAt > performance.now() ? held.token : fresh()),
    async onUnauthorized() {
      held = undefined;
      await fresh();
    },
  };
}
