import { AppError, jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { confirmed: ['create-key', 'delete-key'] });

/** An API key that was made by the API: its hash, never the key. */
export interface IssuedKey {
  id: string;
  keySha256: string;
  tenant: string;
  scopes: string[];
  /** Absent: all tools that its scopes allow. */
  tools?: string[] | undefined;
  notBefore?: string | undefined;
  notAfter?: string | undefined;
  createdAt: string;
  /** The key, or the subject, that made it. */
  createdBy: string;
}

/** API keys in Redis, by tenant. Every change is signalled to the gateways as `keys_changed`. Throws `unavailable`. */
export interface IssuedKeys {
  /** Throws `key_exists`, and `limit_reached`. */
  create(key: IssuedKey): Promise<void>;
  /** Throws `key_not_found`. */
  delete(tenant: string, id: string): Promise<void>;
  /** The keys of a tenant. */
  of(tenant: string): Promise<IssuedKey[]>;
  /** The tenants that have keys. */
  tenants(): Promise<string[]>;
}

/** Creates the store. */
export function createIssuedKeys(deps: { redis: Redis; keys: Keys; scripts: Scripts }): IssuedKeys {
  const { redis, keys, scripts } = deps;
  return {
    async create(key) {
      const { tenant, id, notAfter } = key;
      const text = jsonOf({ ...key, ...(notAfter !== undefined && { goodUntilMs: Date.parse(notAfter) }) });
      const { outcome } = await scripts.call<{ outcome: 'ok' | 'exists' | 'full' }>(lua['create-key'], {
        tenant,
        id,
        text,
      });
      if (outcome === 'exists')
        throw new AppError('key_exists', `There is a key "${id}" already: choose another id.`);
      if (outcome === 'full')
        throw new AppError('limit_reached', 'The tenant has too many keys: revoke one that is not used.', {
          details: { limit: 'keys' },
        });
    },
    async delete(tenant, id) {
      const { outcome } = await scripts.call<{ outcome: 'ok' | 'unknown' }>(lua['delete-key'], {
        tenant,
        id,
      });
      if (outcome === 'unknown')
        throw new AppError('key_not_found', `There is no key "${id}". GET /v1/keys lists the keys.`);
    },
    async of(tenant) {
      const texts = await reached(redis.hvals(keys.of('apikeys', tenant)));
      return texts.map((text) => {
        const { goodUntilMs: _, ...key } = JSON.parse(text) as IssuedKey & { goodUntilMs?: number };
        return key;
      });
    },
    tenants: () => reached(redis.smembers(keys.one('apikeys'))),
  };
}
