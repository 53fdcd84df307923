/**
 * Authentication: from the Authorization header to the caller, and checks of the caller's scopes.
 *
 * This folder:
 *   scopes.ts              scopes of credentials; the pattern of tenant names
 *   same-site.ts           Host and Origin checks
 *   cors.ts                CORS headers and preflights for allowed origins
 *   json-body.ts           parses request bodies, for REST and MCP
 *   errors.ts              errors as HTTP responses
 *   client-disconnect.ts   detects that a client has disconnected
 *   stream-slots.ts        limits the number of open streams
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AppError, type ThreadTokenClaims, verifyThreadToken } from '@harness/contracts';
import type { Authority } from '@harness/dispatch';
import type { Principal } from '@harness/plugin-kit';
import { ConfigError } from '@harness/runtime';
import { decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import type { AccessTokens } from '../oauth/access-tokens.ts';
import { type Scope, scopes, tenantPattern } from './scopes.ts';

const ApiKeys = z.array(
  z.strictObject({
    id: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/),
    keySha256: z.string().regex(/^[0-9a-f]{64}$/),
    tenant: z.string().regex(tenantPattern),
    scopes: z.array(z.enum(scopes)).min(1),
    /**
     * Tools that the key may see and call; `weather__*` is a prefix. Absent: all tools that its scopes allow.
     */
    tools: z.array(z.string()).optional(),
  }),
);
/** An entry of HARNESS_API_KEYS_FILE. */
export type ApiKey = z.infer<typeof ApiKeys>[number];

const sha256 = (text: string) => hash('sha256', text, 'buffer');

/** Returns HARNESS_API_KEY as a key: id `env`, tenant `default`, all scopes. */
export const apiKeyOf = (key: string): ApiKey => ({
  id: 'env',
  keySha256: sha256(key).toString('hex'),
  tenant: 'default',
  scopes: [...scopes],
});

/**
 * Reads HARNESS_API_KEYS_FILE: `[{id, keySha256, tenant, scopes, tools?}]`. Throws ConfigError when the file
 * cannot be read or is not valid.
 */
export async function loadApiKeys(file: string): Promise<ApiKey[]> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigError(`HARNESS_API_KEYS_FILE cannot be read: ${error.message}`);
  });
  try {
    return ApiKeys.parse(JSON.parse(text));
  } catch (error) {
    throw new ConfigError(`HARNESS_API_KEYS_FILE (${file}) is not valid: ${(error as Error).message}`);
  }
}

/** The authenticated caller of a request. */
export interface Caller {
  principal: Principal;
  /** Set for an agent session of a worker: the one thread that it acts for. */
  session?: ThreadTokenClaims;
  /** Of a session: its current rights on its thread. */
  authority?: Extract<Authority, { outcome: 'ok' | 'idle' }>;
  /** The only tools that the credential allows; undefined = all that its scopes allow. */
  tools?: readonly string[] | undefined;
  /** Until then the verified credential may be reused, ms since 1970. Absent: verify it at every request. */
  goodUntil?: number;
}

/**
 * Used when neither a key nor an issuer is configured: the gateway is on loopback then, and every caller has
 * all scopes.
 */
const local: Principal = { keyId: 'local', tenant: 'default', scopes };

/**
 * Verifies an Authorization header. Thread tokens are accepted only if `sessions` is true. Throws
 * `unauthorized`, and `unavailable` when the keys of the OAuth issuer cannot be fetched.
 */
export type Authenticate = (
  authorization: string | undefined,
  options: { sessions: boolean },
) => Promise<Caller>;

/** Creates the verifier of API keys, thread tokens and, if `accessTokens` is given, OAuth access tokens. */
export function createAuthenticate(deps: {
  keys: readonly ApiKey[];
  tokenSecret: string;
  /** Set if an authorization server is configured. */
  accessTokens?: AccessTokens | undefined;
}): Authenticate {
  const { accessTokens } = deps;
  const keys = deps.keys.map(({ id, keySha256, tenant, scopes: granted, tools }) => ({
    digest: Buffer.from(keySha256, 'hex'),
    caller: { principal: { keyId: id, tenant, scopes: granted }, tools, goodUntil: Infinity },
  }));
  return async (authorization, { sessions }) => {
    const token = authorization?.match(/^Bearer +(\S+)$/i)?.[1];
    if (!token) {
      if (keys.length === 0 && !accessTokens && authorization === undefined) return { principal: local };
      throw new AppError('unauthorized', 'Send a key or an access token: "Authorization: Bearer <key>".');
    }
    const digest = sha256(token);
    const key = keys.find((candidate) => timingSafeEqual(candidate.digest, digest));
    if (key) return key.caller;
    if (accessTokens && !mayBeThreadToken(token)) return { principal: await accessTokens.verify(token) };
    if (!sessions || !mayBeThreadToken(token))
      throw new AppError(
        'unauthorized',
        'The API key is not known. Check the key that you send; the operator sets keys in HARNESS_API_KEY or HARNESS_API_KEYS_FILE.',
      );
    const { claims: session, goodUntil } = await verifyThreadToken(token, deps.tokenSecret);
    const principal = {
      keyId: session.threadId,
      tenant: session.tenant,
      scopes: ['tools', 'tasks', 'threads'],
    };
    return { principal, session, tools: session.tools, goodUntil };
  };
}

/**
 * Chooses the verifier of a token by its unverified header. Neither verifier accepts the other's algorithms,
 * so a forged header is refused either way.
 */
function mayBeThreadToken(token: string): boolean {
  try {
    return decodeProtectedHeader(token).alg === 'HS256';
  } catch {
    return false; // not a JWT
  }
}

/**
 * Throws `forbidden` when the caller has neither the scope `tools` nor `bus` (which allows the bus tools
 * only).
 */
export function requireToolAccess(caller: Caller): void {
  if (!caller.principal.scopes.includes('bus')) requireScope(caller, 'tools');
}

/** Throws `forbidden` when the credential lacks the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.principal.scopes.includes(scope)) {
    throw new AppError('forbidden', `This key or token lacks the scope "${scope}".`, { details: { scope } });
  }
}
