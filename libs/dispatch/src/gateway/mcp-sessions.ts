import { randomUUID } from 'node:crypto';
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import type { Replicas } from './replicas.ts';

/** What a client of a 2025 protocol states once, valid at every gateway. */
export interface McpSession {
  sessionId: string;
  tenant: string;
  keyId: string;
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  /** Log messages below this level are not sent; undefined = the client set none. */
  logLevel: string | undefined;
}

/** MCP sessions of all keys. Every method throws `unavailable` when Redis does not answer. */
export interface McpSessions {
  create(session: Omit<McpSession, 'sessionId' | 'logLevel'>): Promise<McpSession>;
  /**
   * Reads a session and renews its TTL. Undefined for an unknown session and for one of another key. Sessions
   * are cached; changes at other gateways invalidate the cache.
   */
  get(sessionId: string, owner: { tenant: string; keyId: string }): Promise<McpSession | undefined>;
  setLogLevel(sessionId: string, level: string): Promise<void>;
  subscribe(sessionId: string, uri: string): Promise<void>;
  unsubscribe(sessionId: string, uri: string): Promise<void>;
  /** Whether the session has subscribed to this resource. */
  isSubscribed(sessionId: string, uri: string): Promise<boolean>;
  /** Ends the session at every gateway. */
  end(sessionId: string): Promise<void>;
}

/**
 * TTL of a session, ms. Long, because many clients never open another session when theirs has expired; a
 * session takes a few hundred bytes.
 */
const ttlMs = 7 * 86_400_000;

/** How long a cached session is used without reading it again, ms. */
const believedMs = 30_000;
const maxBelieved = 10_000;

/** `replicas` carries the notices that invalidate the caches. */
export function createMcpSessions(deps: { redis: Redis; keys: Keys; replicas: Replicas }): McpSessions {
  const { redis, keys, replicas } = deps;
  const believed = new Map<string, { session: McpSession; until: number }>();
  replicas.onSignal((signal) => {
    if (signal.kind === 'session_changed' || signal.kind === 'session_ended')
      believed.delete(signal.sessionId);
    if (signal.kind === 'missed') believed.clear();
  });
  const keyOf = (sessionId: string) => keys.of('mcp', sessionId);
  const subscriptionsOf = (sessionId: string) => keys.of('mcp', `${sessionId}:sub`);
  return {
    async create(session) {
      const sessionId = randomUUID();
      const { capabilities, ...fields } = session;
      const hash = { ...fields, capabilities: jsonOf(capabilities) };
      await reached(redis.multi().hset(keyOf(sessionId), hash).pexpire(keyOf(sessionId), ttlMs).exec());
      return { sessionId, ...session, logLevel: undefined };
    },
    async get(sessionId, owner) {
      const known = believed.get(sessionId);
      if (known && known.until > Date.now()) {
        const { session } = known;
        return session.tenant === owner.tenant && session.keyId === owner.keyId ? session : undefined;
      }
      const [key, subscriptions] = [keyOf(sessionId), subscriptionsOf(sessionId)];
      const read = redis.multi().hgetall(key).pexpire(key, ttlMs).pexpire(subscriptions, ttlMs);
      const replies = await reached(read.exec());
      const hash = (replies?.[0]?.[1] ?? {}) as Record<string, string>;
      const { tenant, keyId, protocolVersion, capabilities, logLevel } = hash;
      if (tenant !== owner.tenant || keyId !== owner.keyId || !protocolVersion) return undefined;
      const session: McpSession = {
        sessionId,
        tenant,
        keyId,
        protocolVersion,
        capabilities: JSON.parse(capabilities ?? '{}'),
        logLevel,
      };
      if (believed.size >= maxBelieved) believed.clear();
      believed.set(sessionId, { session, until: Date.now() + believedMs });
      return session;
    },
    async setLogLevel(sessionId, level) {
      const key = keyOf(sessionId);
      // Sets the TTL again, in case the session has just ended: a hash without TTL would stay forever.
      await reached(redis.multi().hset(key, 'logLevel', level).pexpire(key, ttlMs).exec());
      believed.delete(sessionId);
      await replicas.broadcast({ kind: 'session_changed', sessionId });
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
      believed.delete(sessionId);
      await reached(redis.del(keyOf(sessionId), subscriptionsOf(sessionId)));
      await replicas.broadcast({ kind: 'session_ended', sessionId });
    },
  };
}
