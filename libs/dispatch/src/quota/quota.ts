/**
 * What tenants and keys may hold at most.
 *
 * This folder:
 *   quota.lua           counts what is held (shared definitions)
 *   request-budget.ts   requests per second, over all gateways; draw.lua
 */
import { AppError } from '@harness/contracts';

/** What a tenant or a key may hold at most; an absent limit is none. */
export interface Quota {
  threads?: number | undefined;
  openTasks?: number | undefined;
  waitingMessages?: number | undefined;
  /** Messages and tasks accepted within a day (UTC). */
  runsPerDay?: number | undefined;
  mcpSessions?: number | undefined;
  subscriptions?: number | undefined;
}

/** The quotas of a tenant as a whole and of one of its keys. Limits of the key are counted only where it has its own. */
export type QuotaOf = (holder: { tenant: string; keyId?: string | undefined }) => {
  tenant: Quota;
  key?: Quota | undefined;
};

/** A quota as scripts read it (quota.lua). */
export type QuotaInScript = (holder: { tenant: string; keyId?: string | undefined }) => object | undefined;

/** Passes quotas to scripts; undefined = no limits. */
export const quotaInScript =
  (quotaOf: QuotaOf | undefined): QuotaInScript =>
  (holder) =>
    quotaOf && { ...quotaOf(holder), keyId: holder.keyId };

/** What a script answers when a quota is reached. */
export interface QuotaRefusal {
  limit: keyof Quota;
  of: 'tenant' | 'key';
  allowed: number;
}

const nouns: Record<keyof Quota, string> = {
  threads: 'threads',
  openTasks: 'open tasks',
  waitingMessages: 'waiting messages',
  runsPerDay: 'messages and tasks a day',
  mcpSessions: 'MCP sessions',
  subscriptions: 'subscriptions',
};

const dayMs = 86_400_000;

/** The error that reports a reached quota to the caller. */
export function quotaError({ limit, of, allowed }: QuotaRefusal, now = Date.now()): AppError {
  const isDaily = limit === 'runsPerDay';
  const cure = isDaily ? 'Send again after midnight UTC.' : 'End or delete some, then send again.';
  return new AppError('limit_reached', `This ${of} has ${allowed} ${nouns[limit]}, its maximum. ${cure}`, {
    details: { limit, of, allowed },
    ...(isDaily && { retryAfterMs: dayMs - (now % dayMs) }),
  });
}
