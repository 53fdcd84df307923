import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Keys } from './keys.ts';
import { reached } from './scripts.ts';

/** What a client of a 2025 protocol said once and may rely on at every gateway. */
export interface McpSession {
  sessionId: string;
  tenant: string;
  keyId: string;
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  /** Lines below this level are not sent; undefined = none was asked for. */
  logLevel: string | undefined;
}

export interface McpSessions {
  create(session: Omit<McpSession, 'sessionId' | 'logLevel'>): Promise<McpSession>;
  /** Renews its time. Undefined for an unknown one, and for one of another key. */
  get(sessionId: string, owner: { tenant: string; keyId: string }): Promise<McpSession | undefined>;
  setLogLevel(sessionId: string, level: string): Promise<void>;
  subscribe(sessionId: string, uri: string): Promise<void>;
  unsubscribe(sessionId: string, uri: string): Promise<void>;
  isSubscribed(sessionId: string, uri: string): Promise<boolean>;
  end(sessionId: string): Promise<void>;
}

/** Many clients never ask for another session when theirs is gone, so it lasts; a few hundred bytes each. */
const ttlMs = 7 * 86_400_000;

export function createMcpSessions(deps: { redis: Redis; keys: Keys }): McpSessions {
  const { redis, keys } = deps;
  const keyOf = (sessionId: string) => keys.of('mcp', sessionId);
  const subscriptionsOf = (sessionId: string) => keys.of('mcp', `${sessionId}:sub`);
  return {
    async create(session) {
      const sessionId = randomUUID();
      const { capabilities, ...fields } = session;
      const hash = { ...fields, capabilities: JSON.stringify(capabilities) };
      await reached(redis.multi().hset(keyOf(sessionId), hash).pexpire(keyOf(sessionId), ttlMs).exec());
      return { sessionId, ...session, logLevel: undefined };
    },
    async get(sessionId, owner) {
      const key = keyOf(sessionId);
      const replies = await reached(redis.multi().hgetall(key).pexpire(key, ttlMs).exec());
      const hash = (replies?.[0]?.[1] ?? {}) as Record<string, string>;
      const { tenant, keyId, protocolVersion, capabilities, logLevel } = hash;
      if (tenant !== owner.tenant || keyId !== owner.keyId || !protocolVersion) return undefined;
      return {
        sessionId,
        tenant,
        keyId,
        protocolVersion,
        capabilities: JSON.parse(capabilities ?? '{}'),
        logLevel,
      };
    },
    async setLogLevel(sessionId, level) {
      await reached(redis.hset(keyOf(sessionId), 'logLevel', level));
    },
    async subscribe(sessionId, uri) {
      const set = subscriptionsOf(sessionId);
      await reached(redis.multi().sadd(set, uri).pexpire(set, ttlMs).exec());
    },
    async unsubscribe(sessionId, uri) {
      await reached(redis.srem(subscriptionsOf(sessionId), uri));
    },
    isSubscribed: async (sessionId, uri) =>
      (await reached(redis.sismember(subscriptionsOf(sessionId), uri))) === 1,
    async end(sessionId) {
      await reached(redis.del(keyOf(sessionId), subscriptionsOf(sessionId)));
    },
  };
}
