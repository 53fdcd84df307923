/**
 * Authentication: from the Authorization header to the caller, and checks of the caller's scopes.
 *
 * This folder:
 *   scopes.ts              scopes of credentials; the pattern of tenant names
 *   admit.ts               authenticates a request and takes it from the caller's budget
 *   stream-tickets.ts      tickets for streams that a browser opens
 *   holder.ts              the credential that a ticket or console session represents
 */
import { AppError, type ThreadTokenClaims, verifyThreadToken } from '@harness/contracts';
import type { Authority, ConsoleSessions, TokenSecrets } from '@harness/dispatch';
import type { Principal } from '@harness/plugin-kit';
import { decodeProtectedHeader } from 'jose';
import { type ApiKey, fingerprintOf, sha256Of } from '../../keys/api-keys.ts';
import type { FollowedKeys } from '../../keys/issued-keys.ts';
import type { KeyFile } from '../../keys/key-file.ts';
import type { AccessTokens } from '../../oauth/access-tokens.ts';
import type { Holder } from './holder.ts';
import { type Scope, scopes, sessionScopes } from './scopes.ts';
import type { PresentedTicket, StreamTickets } from './stream-tickets.ts';

/** The authenticated caller of a request. */
export interface Caller {
  principal: Principal;
  /** Set for an agent session of a worker: the one thread that it acts for. */
  session?: ThreadTokenClaims;
  /** Of a session: its current rights on its thread. */
  authority?: Extract<Authority, { outcome: 'ok' | 'idle' }>;
  /** The only tools that the credential allows; undefined = all that its scopes allow. */
  tools?: readonly string[] | undefined;
  /** Whether an outside caller wants the search tools in place of a list of all tools. */
  search?: boolean | undefined;
  /** Until then the verified credential may be reused, ms since 1970. Absent: verify it at every request. */
  goodUntil?: number;
  /** When the credential ends, ms since 1970; undefined = never. */
  endsAt?: number | undefined;
  /** Of an API key: a digest of its secret and its rights. */
  fingerprint?: string;
}

/**
 * Used when neither a key nor an issuer is configured: the gateway is on loopback then, and every caller has
 * all scopes.
 */
const local: Caller = { principal: { keyId: 'local', tenant: 'default', scopes } };

/** Whether the caller needed no credential: the gateway is on loopback and has no keys. */
export const isLocal = (caller: Caller): boolean => caller === local;

/**
 * Verifies an Authorization header or, without one, a stream ticket or the token of a console session. Thread tokens are
 * accepted only if `sessions` is true. Throws `unauthorized`, and `unavailable` when the keys of the OAuth issuer cannot be
 * fetched.
 */
export type Authenticate = (
  authorization: string | undefined,
  options: {
    sessions: boolean;
    ticket?: PresentedTicket | undefined;
    consoleToken?: string | undefined;
  },
) => Promise<Caller>;

/** What credentials are verified with. */
export interface AuthenticateDeps {
  /** Keys that never change. */
  keys: readonly ApiKey[];
  /** Keys that may change at any time. */
  keyFile?: KeyFile | undefined;
  /** Keys that the API has made, which may change at any time. They alone do not make a gateway require a credential. */
  issuedKeys: Pick<FollowedKeys, 'current' | 'onChange'>;
  tokenSecrets: Pick<TokenSecrets, 'accepted'>;
  streamTickets: Pick<StreamTickets, 'redeem'>;
  consoleSessions: Pick<ConsoleSessions, 'find'>;
  /** Set if an authorization server is configured. */
  accessTokens?: AccessTokens | undefined;
}

/**
 * Creates the verifier of API keys, thread tokens and, if `accessTokens` is given, OAuth access tokens. Without any of
 * these configured, every caller is the local one. With an empty key file, no API key is accepted.
 */
export function createAuthenticate(deps: AuthenticateDeps): Authenticate {
  const { accessTokens, keyFile } = deps;
  const isOpen = deps.keys.length === 0 && !keyFile && !accessTokens;
  const ring = createKeyRing(deps);
  const ticketCallerOf = async (ticket: PresentedTicket): Promise<Caller> => {
    const holder = await deps.streamTickets.redeem(ticket);
    const caller = holder && callerOf(holder, ring, isOpen);
    if (caller) return caller;
    throw new AppError(
      'unauthorized',
      'The stream ticket is not valid: it was used before, has expired, or is for another path. Make another one with POST /v1/stream-tickets.',
    );
  };
  const consoleCallerOf = async (consoleToken: string): Promise<Caller> => {
    const found = await deps.consoleSessions.find(consoleToken);
    const caller = found && callerOf(found.content as Holder, ring, isOpen);
    if (caller) return caller;
    throw new AppError(
      'unauthorized',
      'Your session has ended, or its key was revoked or changed. Sign in again.',
    );
  };
  return async (authorization, { sessions, ticket, consoleToken }) => {
    if (authorization === undefined && ticket) return ticketCallerOf(ticket);
    if (authorization === undefined && consoleToken !== undefined && !isOpen)
      return consoleCallerOf(consoleToken);
    const token = authorization?.match(/^Bearer +(\S+)$/i)?.[1];
    if (!token) {
      if (isOpen && authorization === undefined) return local;
      throw new AppError('unauthorized', 'Send a key or an access token: "Authorization: Bearer <key>".');
    }
    const caller = ring.find(token);
    if (caller) return caller;
    if (accessTokens && !mayBeThreadToken(token)) return accessTokens.verify(token);
    if (!sessions || !mayBeThreadToken(token))
      throw new AppError(
        'unauthorized',
        'The API key is not known. Check the key that you send; an administrator makes keys with POST /v1/keys, the operator sets them in HARNESS_API_KEY or HARNESS_API_KEYS_FILE.',
      );
    const { claims: session, goodUntil } = await verifyThreadToken(token, deps.tokenSecrets.accepted);
    const principal = {
      keyId: session.threadId,
      tenant: session.tenant,
      scopes: sessionScopes,
    };
    return { principal, session, tools: session.tools, goodUntil };
  };
}

interface KnownKey {
  notBefore: number;
  caller: Caller & { goodUntil: number };
}

/** The caller that a holder represents; undefined if its credential is no longer valid, or has changed. */
function callerOf(holder: Holder, ring: KeyRing, isOpen: boolean): Caller | undefined {
  if (holder.kind === 'local') return isOpen ? local : undefined;
  if (holder.kind === 'key') {
    const caller = ring.named(holder);
    return caller?.fingerprint === holder.fingerprint ? caller : undefined;
  }
  const { endsAt = 0 } = holder.caller;
  return Date.now() < endsAt ? holder.caller : undefined;
}

/** The current keys. A key has one caller object until it changes; undefined for a key that is unknown or outside its time. */
interface KeyRing {
  /** By the key itself. */
  find(key: string): Caller | undefined;
  /** By tenant and id. */
  named(name: { tenant: string; keyId: string }): Caller | undefined;
}

/**
 * Creates the ring of all current keys. A key is looked up by its SHA-256, so that the time of a lookup reveals nothing
 * about it.
 */
function createKeyRing({ keys, keyFile, issuedKeys }: AuthenticateDeps): KeyRing {
  let known = new Map<ApiKey, KnownKey>();
  let ring = new Map<string, ApiKey[]>();
  const read = () => {
    const all = [...keys, ...(keyFile?.current() ?? []), ...issuedKeys.current()];
    const before = known;
    known = new Map(all.map((key) => [key, before.get(key) ?? knownKeyOf(key)]));
    ring = Map.groupBy(all, ({ keySha256 }) => keySha256);
    // Invalidates callers that connections have cached: their next request is authenticated again.
    for (const [key, { caller }] of before) if (!known.has(key)) caller.goodUntil = 0;
  };
  read();
  keyFile?.onChange(read);
  issuedKeys.onChange(read);
  const validIn = (entries: readonly ApiKey[]): Caller | undefined => {
    const now = Date.now();
    return entries
      .map((key) => known.get(key) as KnownKey)
      .find(({ notBefore, caller }) => notBefore <= now && now < caller.goodUntil)?.caller;
  };
  return {
    find: (token) => validIn(ring.get(sha256Of(token).toString('hex')) ?? []),
    named: ({ tenant, keyId }) =>
      validIn([...known.keys()].filter((key) => key.id === keyId && key.tenant === tenant)),
  };
}

function knownKeyOf(key: ApiKey): KnownKey {
  const { id, tenant, scopes: granted, tools, search, notBefore, notAfter } = key;
  const endsAt = notAfter === undefined ? undefined : Date.parse(notAfter);
  return {
    notBefore: notBefore === undefined ? 0 : Date.parse(notBefore),
    caller: {
      principal: { keyId: id, tenant, scopes: granted },
      tools,
      search,
      endsAt,
      fingerprint: fingerprintOf(key),
      goodUntil: endsAt ?? Number.POSITIVE_INFINITY,
    },
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

/** Throws `forbidden` when the credential lacks the scope, or each of several. */
export function requireScope(caller: Caller, scope: Scope | readonly Scope[]): void {
  const accepted = typeof scope === 'string' ? [scope] : scope;
  if (accepted.some((one) => caller.principal.scopes.includes(one))) return;
  const names = accepted.map((one) => `"${one}"`).join(' or ');
  throw new AppError('forbidden', `This key or token lacks the scope ${names}.`, {
    details: { scope: accepted[0] },
  });
}
