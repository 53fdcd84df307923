/**
 * Thread tokens: what a worker's session presents at /mcp. A JWT (HS256) that binds one thread at one epoch;
 * refused on REST, valid at a tool call only while the epoch matches and a run is under way (the gateway checks).
 */
import { randomUUID } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { AppError } from './errors.ts';
import { ownThreadIdPattern } from './ids.ts';
import { TaskId, ThreadId } from './resources.ts';

const audience = 'harness/mcp';
/** Life of a token in seconds; workers renew between turns. */
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

export interface ThreadTokenClaims {
  /** The thread's own id. */
  threadId: string;
  /** The id that a caller chose for it, by which tools and people know it. */
  alias?: string | undefined;
  tenant: string;
  epoch: number;
  /** Who signed it: the thread's owner then. Absent in tokens of releases before this was written into them. */
  owner?: string | undefined;
  taskId?: string | undefined;
  /** Qualified tool names this session may list and call; absent = all. */
  tools?: string[] | undefined;
}

/** A token that was found to be good, and until when it is, ms of the epoch. */
export interface VerifiedThreadToken {
  claims: ThreadTokenClaims;
  goodUntil: number;
}

const keyOf = (secret: string) => new TextEncoder().encode(secret);

/** Two tokens are never the same, also of one second: a session given a new one begins a new connection, and lists anew. */
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

/** Throws `unauthorized` for a token that is forged, expired, or made for something else. */
export async function verifyThreadToken(token: string, secret: string): Promise<VerifiedThreadToken> {
  try {
    const { payload } = await jwtVerify(token, keyOf(secret), {
      audience,
      algorithms: ['HS256'],
    });
    const { sub, exp, ...claims } = Claims.parse(payload);
    return { claims: { threadId: sub, ...claims }, goodUntil: exp * 1000 };
  } catch (cause) {
    throw new AppError('unauthorized', 'The thread token is not valid.', {
      cause,
    });
  }
}
