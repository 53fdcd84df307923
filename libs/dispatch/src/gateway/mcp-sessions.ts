import { randomUUID } from 'node:crypto';
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import type { Replicas } from './replicas.ts';

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
  /**
   * Renews its time. Undefined for an unknown one, and for one of another key. What was read is believed for a while;
   * changes made at other gateways are heard of.
   */
  get(sessionId: string, owner: { tenant: string; keyId: string }): Promise<McpSession | undefined>;
  setLogLevel(sessionId: string, level: string): Promise<void>;
  subscribe(sessionId: string, uri: string): Promise<void>;
  unsubscribe(sessionId: string, uri: string): Promise<void>;
  isSubscribed(sessionId: string, uri: string): Promise<boolean>;
  /** Everywhere: each gateway is told. */
  end(sessionId: string): Promise<void>;
}

/** Many clients never ask for another session when theirs is gone, so it lasts; a few hundred bytes each. */
const ttlMs = 7 * 86_400_000;

/** How long a session is believed without asking, ms. */
const believedMs = 30_000;
const maxBelieved = 10_000;

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
      // With its time, in case the session has ended meanwhile.
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
