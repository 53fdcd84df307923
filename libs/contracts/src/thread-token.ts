/**
 * Thread tokens: the credential of a worker's session at /mcp. A JWT (HS256) bound to one thread at one
 * epoch. REST refuses it; at a tool call it is valid only while the epoch matches and a run is in progress
 * (checked by the gateway).
 */
import { randomUUID } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { AppError } from './errors.ts';
import { ownThreadIdPattern } from './ids.ts';
import { TaskId, ThreadId } from './resources.ts';

const audience = 'harness/mcp';
/** Lifetime of a token, seconds; workers renew it between turns. */
export const threadTokenTtlSeconds = 3600;

const Claims = z.object({
  sub: z.string().regex(new RegExp(ownThreadIdPattern)),
  alias: ThreadId.optional(),
  exp: z.number(),
  tenant: z.string(),
  epoch: z.number().int(),
  owner: z.string().optional(),
  taskId: TaskId.optional(),
  tools: z.array(z.string()).optional(),
});

/** What a thread token states. */
export interface ThreadTokenClaims {
  /** The thread's own id. */
  threadId: string;
  /** The id that a caller chose for the thread, shown to tools and people. */
  alias?: string | undefined;
  tenant: string;
  epoch: number;
  /**
   * The thread's owner when the token was signed (workerId#incarnation). Absent in tokens of earlier
   * releases.
   */
  owner?: string | undefined;
  taskId?: string | undefined;
  /** Qualified names of the tools that the session may list and call; absent = all. */
  tools?: string[] | undefined;
}

/** A valid token. `goodUntil`: its expiry, Unix time in ms. */
export interface VerifiedThreadToken {
  claims: ThreadTokenClaims;
  goodUntil: number;
}

const keyOf = (secret: string) => new TextEncoder().encode(secret);

/**
 * Signs a token. Two tokens always differ, even within a second: a session that gets a new one opens a new
 * connection and lists its tools anew.
 */
export function signThreadToken(claims: ThreadTokenClaims, secret: string): Promise<string> {
  const { threadId, ...payload } = claims;
  return new SignJWT({ ...payload })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(threadId)
    .setAudience(audience)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime(`${threadTokenTtlSeconds}s`)
    .sign(keyOf(secret));
}

/**
 * Verifies a token that was signed with one of the secrets. Throws `unauthorized` if it is forged, expired, or issued for
 * another purpose.
 */
export async function verifyThreadToken(
  token: string,
  secrets: readonly string[],
): Promise<VerifiedThreadToken> {
  try {
    const { sub, exp, ...claims } = Claims.parse(await payloadOf(token, secrets));
    return { claims: { threadId: sub, ...claims }, goodUntil: exp * 1000 };
  } catch (cause) {
    throw new AppError('unauthorized', 'The thread token is forged, expired, or not for this endpoint.', {
      cause,
    });
  }
}

async function payloadOf(token: string, [secret = '', ...others]: readonly string[]): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keyOf(secret), { audience, algorithms: ['HS256'] })).payload;
  } catch (error) {
    if (others.length > 0 && error instanceof errors.JWSSignatureVerificationFailed)
      return payloadOf(token, others);
    throw error;
  }
}
