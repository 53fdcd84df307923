/**
 * The audit log in Redis: the latest records of each tenant and of the whole installation.
 *
 * This folder, who may do what at the gateways, and who did:
 *   append-audit.lua   script: stores a batch of records
 *   issued-keys.ts     API keys that were made by the API; create-key.lua, delete-key.lua
 *   key-rights.ts      ends the rights of messages of revoked keys; revoke.lua, revoked.lua
 *   tickets.ts         one-time tickets; create-ticket.lua, redeem-ticket.lua
 *   console-sessions.ts sessions of the operator's console; create-console-session.lua
 *   token-secrets.ts   the secrets of tokens, and of the names of default threads
 */
import { AppError, type AuditRecord } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['append-audit'] });

/** A gateway's batch of records, oldest first. */
export interface AuditBatch {
  /** The gateway. */
  replica: string;
  /** Differs from the gateway's previous batch; a repeat of the latest one is not stored again. */
  batch: string;
  /** Records as JSON, each with its tenant, null if that is unknown. */
  records: readonly { tenant: string | null; text: string }[];
}

/** The audit log in Redis. Every method throws `unavailable`. */
export interface AuditLog {
  append(batch: AuditBatch): Promise<void>;
  /**
   * A page of the latest records, newest first. `tenant`: undefined = of the whole installation. `cursor`: from the
   * previous page; throws `invalid_request` for any other text. `nextCursor`: null at the end.
   */
  read(page: {
    tenant: string | undefined;
    limit: number;
    cursor?: string | undefined;
  }): Promise<{ records: AuditRecord[]; nextCursor: string | null }>;
}

/** An id of the stream. 0-0 is none, and Redis refuses to read before it. */
const cursorPattern = /^(?!0+-0+$)\d{1,15}-\d{1,10}$/;

/** Creates the audit log. */
export function createAuditLog(deps: { redis: Redis; keys: Keys; scripts: Scripts }): AuditLog {
  const { redis, keys, scripts } = deps;
  return {
    async append({ replica, batch, records }) {
      const flat = records.flatMap(({ tenant, text }) => [tenant ?? '', text]);
      await scripts.call(lua['append-audit'], { replica, batch, records: flat });
    },
    async read({ tenant, limit, cursor }) {
      if (cursor !== undefined && !cursorPattern.test(cursor))
        throw new AppError(
          'invalid_request',
          'The cursor is not one of a previous page: leave it out to begin.',
        );
      const stream = tenant === undefined ? keys.one('audit') : keys.of('audit', tenant);
      const end = cursor === undefined ? '+' : `(${cursor}`;
      // One more than requested shows whether there is a next page.
      const entries = await reached(redis.xrevrange(stream, end, '-', 'COUNT', limit + 1));
      const shown = entries.slice(0, limit);
      return {
        // The order of the stream is that of writing; gateways write their records with some delay.
        records: shown
          .map(([, [, text = '']]) => JSON.parse(text) as AuditRecord)
          .sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0)),
        nextCursor: entries.length > limit ? (shown.at(-1)?.[0] ?? null) : null,
      };
    },
  };
}
