/**
 * MCP sessions of the 2025 protocols.
 *
 * This folder, what clients of MCP have at every gateway:
 *   mcp-open.lua, mcp-subscribe.lua  scripts of this file
 *   stream-log.ts                    streams that a client can resume
 *   call-tasks.ts, call-task.lua     tool calls that run as tasks
 */
import { randomUUID } from 'node:crypto';
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Replicas } from '../gateway/replicas.ts';
import { type QuotaInScript, type QuotaRefusal, quotaError } from '../quota/quota.ts';
import type { Keys } from '../redis/keys.ts';
import { reached, reachedAll } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['mcp-open', 'mcp-subscribe'] });

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

/** A session and whose it is. */
export type SessionOwner = Pick<McpSession, 'sessionId' | 'tenant' | 'keyId'>;

/** MCP sessions of all keys. Every method throws `unavailable` when Redis does not answer. */
export interface McpSessions {
  /** `isCounted`: whether it counts to the quotas of its key and tenant. Throws `limit_reached`. */
  create(
    session: Omit<McpSession, 'sessionId' | 'logLevel'>,
    options?: { isCounted: boolean },
  ): Promise<McpSession>;
  /**
   * Reads a session and renews its TTL. Undefined for an unknown session and for one of another key. Sessions
   * are cached; changes at other gateways invalidate the cache.
   */
  get(sessionId: string, owner: { tenant: string; keyId: string }): Promise<McpSession | undefined>;
  setLogLevel(sessionId: string, level: string): Promise<void>;
  /** Throws `limit_reached`. */
  subscribe(session: SessionOwner, uri: string): Promise<void>;
  unsubscribe(session: SessionOwner, uri: string): Promise<void>;
  /** Whether the session has subscribed to this resource. */
  isSubscribed(sessionId: string, uri: string): Promise<boolean>;
  /** Ends the session at every gateway. */
  end(session: SessionOwner): Promise<void>;
}

/**
 * TTL of a session, ms. Long, because many clients never open another session when theirs has expired; a
 * session takes a few hundred bytes.
 */
const ttlMs = 7 * 86_400_000;

/** A session unused for this time is ended where a quota is reached and its key opens another one, ms. */
const idleMs = 3_600_000;

/** How long a cached session is used without reading it again, ms. */
const cachedMs = 30_000;
const maxCached = 10_000;

/** `replicas` carries the notices that invalidate the caches. */
export function createMcpSessions(deps: {
  redis: Redis;
  keys: Keys;
  scripts: Scripts;
  replicas: Replicas;
  quotaOf: QuotaInScript;
}): McpSessions {
  const { redis, keys, scripts, replicas, quotaOf } = deps;
  const cached = new Map<string, { session: McpSession; until: number }>();
  replicas.onSignal((signal) => {
    if (signal.kind === 'session_changed' || signal.kind === 'session_ended') cached.delete(signal.sessionId);
    if (signal.kind === 'missed') cached.clear();
  });
  const keyOf = (sessionId: string) => keys.of('mcp', sessionId);
  const heldBy = (limit: string, { tenant, keyId }: { tenant: string; keyId: string }) => [
    keys.of('held', `${limit}:${tenant}`),
    keys.of('held', `${limit}:${tenant}/${keyId}`),
  ];
  const subscriptionsOf = (sessionId: string) => keys.of('mcp', `${sessionId}:sub`);
  return {
    async create(session, { isCounted } = { isCounted: true }) {
      const sessionId = randomUUID();
      const { capabilities, ...fields } = session;
      const { tenant, keyId } = session;
      const made = await scripts.call<{ outcome: 'created' } | ({ outcome: 'quota' } & QuotaRefusal)>(
        lua['mcp-open'],
        {
          sessionId,
          tenant,
          keyId,
          ttlMs,
          idleMs,
          fields: { ...fields, capabilities: jsonOf(capabilities) },
          quota: isCounted ? quotaOf({ tenant, keyId }) : undefined,
        },
      );
      if (made.outcome === 'quota') throw quotaError(made);
      return { sessionId, ...session, logLevel: undefined };
    },
    async get(sessionId, owner) {
      const known = cached.get(sessionId);
      if (known && known.until > Date.now()) {
        const { session } = known;
        return session.tenant === owner.tenant && session.keyId === owner.keyId ? session : undefined;
      }
      const [key, subscriptions] = [keyOf(sessionId), subscriptionsOf(sessionId)];
      // The session is also found while Redis takes no writes: then it is not renewed.
      const renewal = redis.pipeline().pexpire(key, ttlMs).pexpire(subscriptions, ttlMs);
      for (const held of heldBy('mcpSessions', owner)) renewal.zadd(held, 'XX', Date.now(), sessionId);
      const [hash] = await Promise.all([reached(redis.hgetall(key)), reached(renewal.exec())]);
      const { tenant, keyId, protocolVersion, capabilities, logLevel, openedAt = '0' } = hash;
      if (tenant !== owner.tenant || keyId !== owner.keyId || !protocolVersion) return undefined;
      // A session of a revoked key does not belong to a new key with the same id.
      const revokedAt = await reached(redis.zscore(keys.one('revoked'), `${tenant}/${keyId}`));
      if (revokedAt !== null && Number(revokedAt) >= Number(openedAt)) return undefined;
      const session: McpSession = {
        sessionId,
        tenant,
        keyId,
        protocolVersion,
        capabilities: JSON.parse(capabilities ?? '{}'),
        logLevel,
      };
      if (cached.size >= maxCached) cached.clear();
      cached.set(sessionId, { session, until: Date.now() + cachedMs });
      return session;
    },
    async setLogLevel(sessionId, level) {
      const key = keyOf(sessionId);
      // Sets the TTL again, in case the session has just ended: a hash without TTL would stay forever.
      await reached(redis.multi().hset(key, 'logLevel', level).pexpire(key, ttlMs).exec());
      cached.delete(sessionId);
      await replicas.broadcast({ kind: 'session_changed', sessionId });
    },
    async subscribe({ sessionId, tenant, keyId }, uri) {
      const args = { sessionId, tenant, keyId, uri, ttlMs, quota: quotaOf({ tenant, keyId }) };
      const made = await scripts.call<{ outcome: 'subscribed' } | ({ outcome: 'quota' } & QuotaRefusal)>(
        lua['mcp-subscribe'],
        args,
      );
      if (made.outcome === 'quota') throw quotaError(made);
    },
    async unsubscribe(session, uri) {
      const { sessionId } = session;
      const change = redis.pipeline().srem(subscriptionsOf(sessionId), uri);
      for (const held of heldBy('subscriptions', session)) change.zrem(held, `${sessionId} ${uri}`);
      await reachedAll(change.exec());
    },
    isSubscribed: async (sessionId, uri) =>
      (await reached(redis.sismember(subscriptionsOf(sessionId), uri))) === 1,
    async end(session) {
      const { sessionId } = session;
      cached.delete(sessionId);
      // No transaction: a full Redis refuses each of them, and this one frees memory.
      const change = redis.pipeline().del(keyOf(sessionId), subscriptionsOf(sessionId));
      for (const held of heldBy('mcpSessions', session)) change.zrem(held, sessionId);
      await reachedAll(change.exec());
      await replicas.broadcast({ kind: 'session_ended', sessionId });
    },
  };
}
