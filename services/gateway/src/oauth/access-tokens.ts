import { AppError } from '@harness/contracts';
import type { Principal } from '@harness/plugin-kit';
import {
  createRemoteJWKSet,
  decodeJwt,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { scopes, tenantPattern } from '../http/credentials/scopes.ts';
import { discoverJwksUrl } from './discover.ts';
import type { OAuthSettings } from './settings.ts';

/** Asymmetric algorithms only: with them, only the authorization server can sign. */
const algorithms = ['RS', 'PS', 'ES'].flatMap((kind) => ['256', '384', '512'].map((bits) => kind + bits));
const accepted = [...algorithms, 'EdDSA', 'Ed25519'];

/** Longest wait for the authorization server, ms. */
export const answerLimitMs = 5_000;
/** Tolerated difference between its clock and this one's, seconds. */
const clockTolerance = 5;

/** Longest life of an accepted token, seconds: a stolen one must end. */
const maxLifeSeconds = 24 * 3_600;
/** Header `typ` of an access token (RFC 9068). Many servers set `JWT`, or nothing. */
const accessTypes = ['at+jwt', 'application/at+jwt'];
const vagueTypes = [undefined, 'jwt'];
/** Claims that only ID tokens have (OpenID Connect). */
const idTokenClaims = ['nonce', 'at_hash', 'c_hash'];

/**
 * The key id of an access token is this and its subject. Ids of API keys have no colon, so a subject never equals
 * one.
 */
export const accessKeyPrefix = 'oauth:';

/** The verifier of access tokens. */
export interface AccessTokens {
  /** Throws `unauthorized`, and `unavailable` while the authorization server's keys cannot be fetched. */
  verify(token: string): Promise<{ principal: Principal; endsAt: number }>;
}

/**
 * Creates the verifier of access tokens: JWTs (RFC 9068) of the configured OAuth 2.1 authorization server
 * with this gateway as audience. They are verified locally with the server's public keys, so no token leaves
 * this process.
 */
export function createAccessTokens(settings: OAuthSettings): AccessTokens {
  const { issuer, tenantClaim } = settings;
  const keysOf = createKeySource(settings);
  /** The server sets `at+jwt`: from then on a token without it is something else. */
  let setsType = false;
  const checkKind = (typ: string | undefined, payload: JWTPayload) => {
    const type = typ?.toLowerCase();
    if (type !== undefined && accessTypes.includes(type)) {
      setsType = true;
      return;
    }
    const isOther = setsType || !vagueTypes.includes(type) || idTokenClaims.some((claim) => claim in payload);
    if (isOther)
      throw new AppError('unauthorized', 'The token is not an access token. Send an access token.');
  };
  return {
    async verify(token) {
      try {
        // Check the issuer first: a token of another issuer must not cause a fetch of keys.
        if (decodeJwt(token).iss !== issuer) throw new errors.JWTInvalid('of another issuer');
        const { payload, protectedHeader } = await jwtVerify(token, keysOf, {
          issuer,
          audience: [...settings.audiences],
          algorithms: accepted,
          requiredClaims: ['exp', 'sub'],
          clockTolerance,
        });
        checkKind(protectedHeader.typ, payload);
        checkLife(payload);
        const principal = principalOf(payload, payload[tenantClaim] ?? settings.tenant, tenantClaim);
        return { principal, endsAt: Number(payload.exp) * 1000 };
      } catch (cause) {
        if (cause instanceof AppError) throw cause;
        throw new AppError('unauthorized', `The access token is not valid${reasonOf(cause)}.`, { cause });
      }
    },
  };
}

function checkLife({ exp = 0, iat, sub }: JWTPayload): void {
  if (!sub?.trim())
    throw new AppError(
      'unauthorized',
      'The access token has an empty subject. Let the authorization server set the claim "sub".',
    );
  const now = Date.now() / 1000;
  // An `iat` in the future would hide the rest of a long life.
  if (exp - Math.min(iat ?? now, now) > maxLifeSeconds)
    throw new AppError(
      'unauthorized',
      `The access token is valid for more than ${maxLifeSeconds / 3_600} hours. Let the authorization server issue shorter ones.`,
    );
}

function principalOf(payload: JWTPayload, tenant: unknown, tenantClaim: string): Principal {
  if (typeof tenant !== 'string' || !tenantPattern.test(tenant)) {
    throw new AppError(
      'unauthorized',
      `The access token names no tenant in its claim "${tenantClaim}". Let the authorization server set it, or set HARNESS_OAUTH_TENANT.`,
    );
  }
  const granted = scopesOf(payload);
  return {
    keyId: `${accessKeyPrefix}${payload.sub}`,
    tenant,
    scopes: scopes.filter((scope) => granted.includes(scope)),
  };
}

/** The granted scopes: `scope` (RFC 9068), or `scp` as a list (Okta) or a string (Entra). */
function scopesOf({ scope, scp }: JWTPayload): string[] {
  const words = (value: unknown) =>
    typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
  return [...words(scope), ...words(scp)].filter((word) => typeof word === 'string');
}

/** Errors caused by the token and not by the key server. */
const noKeyForIt = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];

/**
 * Creates the source of public keys: fetched when first needed, cached for 10 minutes, one request at a time,
 * and at most twice a minute for unknown key ids. A failed fetch is retried at the next token and keeps the
 * cached keys.
 */
function createKeySource({ issuer, jwksUrl }: OAuthSettings): JWTVerifyGetKey {
  let source: Promise<JWTVerifyGetKey> | undefined;
  const find = async () => {
    const url = jwksUrl ?? (await discoverJwksUrl(issuer, answerLimitMs));
    return createRemoteJWKSet(new URL(url), { timeoutDuration: answerLimitMs });
  };
  const open = () => {
    source ??= find().catch((cause) => {
      source = undefined;
      throw cause;
    });
    return source;
  };
  return async (header, token) => {
    try {
      return await (await open())(header, token);
    } catch (cause) {
      if (noKeyForIt.some((kind) => cause instanceof kind)) throw cause;
      throw new AppError(
        'unavailable',
        'The access token cannot be verified: the keys of the authorization server cannot be fetched. Try again later.',
        { cause },
      );
    }
  };
}

function reasonOf(cause: unknown): string {
  if (cause instanceof errors.JWTExpired) return ': it has expired';
  if (cause instanceof errors.JWTClaimValidationFailed)
    return `: its claim "${cause.claim}" is missing or has an unexpected value`;
  return '';
}
