/**
 * The secrets of an installation. They sign and verify thread tokens and the state that clients carry for the gateway, and
 * derive the ids of default threads.
 *
 * Token secrets are rotated. The naming secret must stay, since with another one every caller's default thread would change:
 * it is the first token secret that the installation ever had. Redis keeps it encrypted, once with each token secret, so
 * that a process with any current secret can read it after the first one was rotated out.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { reached } from '../redis/reached.ts';

/** The secrets of an installation, the same at every gateway and worker. */
export interface TokenSecrets {
  /** Signs. */
  current: string;
  /** All that verify, the current one first. */
  accepted: readonly string[];
  /** Names default threads; stays the same when the others are rotated. */
  naming: string;
}

/**
 * Returns the secrets. `given`: those of the configuration, the one that signs first; [] = one that is made once and shared
 * through Redis.
 */
export type ReadTokenSecrets = (given: readonly string[]) => Promise<TokenSecrets>;

/** Throws `unavailable` when Redis does not answer. */
export function createTokenSecrets(deps: { redis: Redis; keys: Keys; logger: Log }): ReadTokenSecrets {
  const { redis, keys, logger } = deps;
  const shared = keys.one('secret');
  const wrapped = keys.one('naming');
  const makeShared = async () => {
    await reached(redis.set(shared, randomBytes(32).toString('base64url'), 'NX'));
    return (await reached(redis.get(shared))) as string;
  };
  /** The naming secret, if one of these secrets opens it. */
  const open = async (secrets: readonly string[]) => {
    const entries = await reached(redis.hgetall(wrapped));
    const opened = secrets.flatMap((secret) => {
      const text = entries[nameOf(secret)];
      return text === undefined ? [] : [unwrap(text, secret)];
    });
    return { naming: opened[0], isNew: Object.keys(entries).length === 0 };
  };
  return async (given) => {
    const accepted = given.length > 0 ? given : [await makeShared()];
    // An installation that is given its first secret had the shared one before.
    const former = await reached(redis.get(shared));
    const known = [...new Set([...accepted, ...(former === null ? [] : [former])])];
    const found = await open(known);
    if (!found.naming && !found.isNew)
      logger.warn(
        {},
        'HARNESS_TOKEN_SECRET was replaced and not rotated: callers that name no thread get new default threads',
      );
    // The last one is the oldest: a release without rotation has used it for names.
    const naming = found.naming ?? (accepted.at(-1) as string);
    for (const secret of accepted) await reached(redis.hsetnx(wrapped, nameOf(secret), wrap(naming, secret)));
    // Another process may have been first, with other secrets.
    return { current: accepted[0] as string, accepted, naming: (await open(accepted)).naming ?? naming };
  };
}

/** Identifies the secret that an entry is encrypted with, without revealing it. */
const nameOf = (secret: string) => derived(secret, 'name').toString('hex').slice(0, 16);
const derived = (secret: string, use: string) =>
  createHmac('sha256', secret).update(`harness/naming/${use}`).digest();

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

function wrap(text: string, secret: string): string {
  const iv = randomBytes(ivBytes);
  const sealing = createCipheriv(cipher, derived(secret, 'key'), iv);
  const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()]);
  return Buffer.concat([iv, sealing.getAuthTag(), sealed]).toString('base64url');
}

function unwrap(text: string, secret: string): string {
  const bytes = Buffer.from(text, 'base64url');
  const opening = createDecipheriv(cipher, derived(secret, 'key'), bytes.subarray(0, ivBytes), {
    authTagLength: tagBytes,
  });
  opening.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  return Buffer.concat([opening.update(bytes.subarray(ivBytes + tagBytes)), opening.final()]).toString(
    'utf8',
  );
}
