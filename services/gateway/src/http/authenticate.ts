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
    /** The tools it may see and call, `weather__*` for all that begin so; absent: all of its scopes. */
    tools: z.array(z.string()).optional(),
  }),
);
export type ApiKey = z.infer<typeof ApiKeys>[number];

const sha256 = (text: string) => hash('sha256', text, 'buffer');

/** HARNESS_API_KEY as a key: tenant `default`, all scopes. */
export const apiKeyOf = (key: string): ApiKey => ({
  id: 'env',
  keySha256: sha256(key).toString('hex'),
  tenant: 'default',
  scopes: [...scopes],
});

/** Reads HARNESS_API_KEYS_FILE: `[{id, keySha256, tenant, scopes, tools?}]`. Throws ConfigError. */
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

/** Who calls. `session` is set for a worker's session, which speaks for one thread. */
export interface Caller {
  principal: Principal;
  session?: ThreadTokenClaims;
  /** Of a session: what it may speak for at this moment. */
  authority?: Extract<Authority, { outcome: 'ok' | 'idle' }>;
  /** Names of tools, where the credential names some. */
  tools?: readonly string[] | undefined;
  /** ms of the epoch; until then the credential needs no second look. Absent: it is looked at each time. */
  goodUntil?: number;
}

/** Without a key or an issuer configured the gateway is on loopback, and whoever reaches it may do everything. */
const local: Principal = { keyId: 'local', tenant: 'default', scopes };

/** Throws `unauthorized`. Thread tokens are accepted only where `sessions` is true. */
export type Authenticate = (
  authorization: string | undefined,
  options: { sessions: boolean },
) => Promise<Caller>;

export function createAuthenticate(deps: {
  keys: readonly ApiKey[];
  tokenSecret: string;
  /** Where an authorization server is configured. */
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
      throw new AppError('unauthorized', 'The API key is not known.');
    const { claims: session, goodUntil } = await verifyThreadToken(token, deps.tokenSecret);
    const principal = {
      keyId: session.threadId,
      tenant: session.tenant,
      scopes: ['tools', 'tasks', 'threads'],
    };
    return { principal, session, tools: session.tools, goodUntil };
  };
}

/** Which verifier a token goes to; neither accepts the other's algorithms, so a lie here only picks who refuses. */
function mayBeThreadToken(token: string): boolean {
  try {
    return decodeProtectedHeader(token).alg === 'HS256';
  } catch {
    return false; // no JWT at all
  }
}

/** For tools at all: of a key for the bus alone, those of the bus. Throws `forbidden`. */
export function requireToolAccess(caller: Caller): void {
  if (!caller.principal.scopes.includes('bus')) requireScope(caller, 'tools');
}

/** Throws `forbidden` when the key lacks the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.principal.scopes.includes(scope)) {
    throw new AppError('forbidden', `This key lacks the scope "${scope}".`, { details: { scope } });
  }
}
