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
import { scopes, tenantPattern } from '../http/scopes.ts';
import { discoverJwksUrl } from './discover.ts';
import type { OAuthSettings } from './settings.ts';

/** Only what the authorization server alone can sign: a shared secret, or none, would let others do it. */
const algorithms = ['RS', 'PS', 'ES'].flatMap((kind) => ['256', '384', '512'].map((bits) => kind + bits));
const accepted = [...algorithms, 'EdDSA', 'Ed25519'];

/** Longest wait for the authorization server, ms. */
export const answerLimitMs = 5_000;
/** How far its clock may be from ours, seconds. */
const clockTolerance = 5;

export interface AccessTokens {
  /** Throws `unauthorized`; `unavailable` while the authorization server's keys cannot be had. */
  verify(token: string): Promise<Principal>;
}

/**
 * Access tokens of an OAuth 2.1 authorization server: JWTs (RFC 9068) for this gateway and nobody else. Verified here
 * with the server's public keys, so that no token ever leaves this process.
 */
export function createAccessTokens(settings: OAuthSettings): AccessTokens {
  const { issuer, tenantClaim } = settings;
  const keysOf = createKeySource(settings);
  return {
    async verify(token) {
      try {
        // What does not even claim to be from our issuer must not make us ask it for keys.
        if (decodeJwt(token).iss !== issuer) throw new errors.JWTInvalid('of another issuer');
        const { payload } = await jwtVerify(token, keysOf, {
          issuer,
          audience: [...settings.audiences],
          algorithms: accepted,
          requiredClaims: ['exp', 'sub'],
          clockTolerance,
        });
        return principalOf(payload, payload[tenantClaim] ?? settings.tenant, tenantClaim);
      } catch (cause) {
        if (cause instanceof AppError) throw cause;
        throw new AppError('unauthorized', `The access token is not valid${reasonOf(cause)}.`, { cause });
      }
    },
  };
}

function principalOf(payload: JWTPayload, tenant: unknown, tenantClaim: string): Principal {
  if (typeof tenant !== 'string' || !tenantPattern.test(tenant)) {
    throw new AppError('unauthorized', `The access token names no tenant in its claim "${tenantClaim}".`);
  }
  const granted = scopesOf(payload);
  // No API key's id has a colon: a subject can never pass for one.
  return {
    keyId: `oauth:${payload.sub}`,
    tenant,
    scopes: scopes.filter((scope) => granted.includes(scope)),
  };
}

/** `scope` as RFC 9068 has it, `scp` as Okta (a list) and Entra (words) do; scopes of others are not ours. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
  const words = (value: unknown) =>
    typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
  return [...words(scope), ...words(scp)].filter((word) => typeof word === 'string');
}

/** Faults of a token, not of the key server. */
const noKeyForIt = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];

/**
 * The keys: fetched when first needed, kept 10 minutes, asked for once at a time, and for an unknown one at most twice a
 * minute. A failure is not remembered, and takes no key away that is known.
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
        'The authorization server does not answer, so the access token cannot be checked.',
        { cause },
      );
    }
  };
}

function reasonOf(cause: unknown): string {
  if (cause instanceof errors.JWTExpired) return ': it has expired';
  if (cause instanceof errors.JWTClaimValidationFailed) return `: its claim "${cause.claim}" does not fit`;
  return '';
}
