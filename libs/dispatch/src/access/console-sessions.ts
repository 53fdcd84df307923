import { hash, randomBytes } from 'node:crypto';
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Limits } from '../limits.ts';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['create-console-session'] });

/** A new session of the console. */
export interface NewConsoleSession {
  /** The principal whose sessions it counts among: beyond the limit, the oldest one ends. */
  holder: string;
  content: object;
  /** When the credential behind the session ends, ms since 1970; undefined = never. */
  endsAt?: number | undefined;
}

/**
 * Sessions of the operator's console: opaque tokens, valid at every gateway until they end. Redis has their SHA-256.
 * Every method throws `unavailable`.
 */
export interface ConsoleSessions {
  /** `expiresAt`: ms since 1970. */
  create(session: NewConsoleSession): Promise<{ token: string; expiresAt: number }>;
  /** The content and the end of a session; undefined for one that is unknown or has ended. */
  find(token: string): Promise<{ content: unknown; expiresAt: number } | undefined>;
  end(token: string): Promise<void>;
}

/** Creates the sessions on Redis. */
export function createConsoleSessions(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  limits: Pick<Limits, 'consoleSessionMs'>;
}): ConsoleSessions {
  const { redis, keys, scripts, limits } = deps;
  const keyOf = (token: string) => keys.of('csession', hash('sha256', token, 'hex'));
  return {
    async create({ holder, content, endsAt = Number.POSITIVE_INFINITY }) {
      const token = `hcs_${randomBytes(32).toString('base64url')}`;
      const ttlMs = Math.max(1, Math.min(limits.consoleSessionMs, endsAt - Date.now()));
      const expiresAt = Date.now() + ttlMs;
      const text = jsonOf({ content, expiresAt });
      const digest = hash('sha256', token, 'hex');
      await scripts.call(lua['create-console-session'], { digest, holder, ttlMs, text });
      return { token, expiresAt };
    },
    async find(token) {
      const text = await reached(redis.get(keyOf(token)));
      return text === null ? undefined : (JSON.parse(text) as { content: unknown; expiresAt: number });
    },
    async end(token) {
      await reached(redis.del(keyOf(token)));
    },
  };
}
