/**
 * Limits of tenants and keys, so that none can starve another, and which of them apply to a caller.
 *
 * This folder:
 *   limits-file.ts       reads and follows HARNESS_LIMITS_FILE
 *   request-rate.ts      requests per second, shared by all gateways
 *   failed-attempts.ts   refused credentials per second and address
 *   check-bytes.ts       sizes of JSON values
 *   slots.ts             calls, streams and subscriptions in progress at this gateway
 */
import type { Quota, QuotaOf } from '@harness/dispatch';
import { z } from 'zod';

const count = z.int().min(0).max(1_000_000_000);

/** The limits that an operator may set for all keys, a tenant or a key. */
export const Limits = z.strictObject({
  /** Requests per second, on average. */
  requestsPerSecond: z.number().positive().max(1_000_000).optional(),
  /** Requests at once, after a pause. */
  burst: z.int().min(1).max(1_000_000).optional(),
  /** Tool calls in progress, at each gateway. */
  concurrentCalls: count.optional(),
  /** Open event streams and waits for a run, at each gateway. */
  streams: count.optional(),
  /** Subscriptions of MCP clients: `subscriptions/listen` streams at each gateway; subscribed resources. */
  subscriptions: count.optional(),
  /** MCP sessions of the 2025 protocols. */
  mcpSessions: count.optional(),
  /** Threads that exist. */
  threads: count.optional(),
  /** Delegated tasks that have not ended. */
  openTasks: count.optional(),
  /** Accepted messages that no worker has answered yet, over all threads. */
  waitingMessages: count.optional(),
  /** Bytes of one `metadata` object, and of an MCP client's capabilities. */
  metadataBytes: count.optional(),
  /** Messages and tasks accepted within a day (UTC). */
  runsPerDay: count.optional(),
});
/** Limits of one holder; an absent one is inherited. */
export type Limits = z.infer<typeof Limits>;
/** All limits of one holder. */
export type AllLimits = { [Name in keyof Limits]-?: number };

/** HARNESS_LIMITS_FILE: limits of every key, of tenants (all their keys together), and of their keys. */
export const LimitsFile = z.strictObject({
  defaults: Limits.default({}),
  tenants: z
    .record(z.string(), Limits.extend({ keys: z.record(z.string(), Limits).default({}) }))
    .default({}),
});
/** The parsed file. */
export type LimitsFile = z.infer<typeof LimitsFile>;

/** The content of no file. */
export const noLimitsFile: LimitsFile = { defaults: {}, tenants: {} };

/** Limits of a key, and of a tenant's keys together, where the file has none. A person never reaches them. */
export const defaultLimits: { key: AllLimits; tenant: AllLimits } = {
  key: {
    requestsPerSecond: 200,
    burst: 400,
    concurrentCalls: 500,
    streams: 500,
    subscriptions: 500,
    mcpSessions: 1_000,
    threads: 100_000,
    openTasks: 1_000,
    waitingMessages: 20_000,
    metadataBytes: 16 * 1024,
    runsPerDay: 1_000_000,
  },
  tenant: {
    requestsPerSecond: 2_000,
    burst: 4_000,
    concurrentCalls: 1_000,
    streams: 1_000,
    subscriptions: 1_000,
    mcpSessions: 5_000,
    threads: 100_000,
    openTasks: 1_000,
    waitingMessages: 20_000,
    metadataBytes: 16 * 1024,
    runsPerDay: 1_000_000,
  },
};

/** The tenant, and its key, to which limits apply. */
export interface Holder {
  tenant: string;
  keyId: string;
}

/** The limits of a caller: both apply. */
export interface CallerLimits {
  /** Names the holder: always the same text object for the same limits, so that maps find it fast. */
  id: string;
  tenant: AllLimits;
  key: AllLimits;
  /** The limits that the operator has set for this key itself. */
  ownOfKey: Partial<AllLimits>;
}

/** The limits in force. */
export interface TenantLimits {
  /** The same object for equal holders until the limits change. A holder that was asked about before is found fast. */
  of(holder: Holder): CallerLimits;
}

/**
 * The limits of a file as it is now. A key has its own limits, else the file's defaults, else the built-in ones. A
 * tenant has its own, else the built-in ones, and never less than one key may use by default.
 */
export function createTenantLimits(current: () => LimitsFile): TenantLimits {
  let known = noneKnown(current());
  const byIdOf = ({ tenant, keyId }: Holder): CallerLimits => {
    const id = `${tenant}/${keyId}`;
    const found = known.byId.get(id);
    if (found) return found;
    if (known.byId.size >= maxKnown) known = noneKnown(known.file);
    const limits = { id, ...callerLimitsOf(known.file, { tenant, keyId }) };
    known.byId.set(id, limits);
    return limits;
  };
  return {
    of(holder) {
      const file = current();
      if (file !== known.file) known = noneKnown(file);
      const found = known.byHolder.get(holder);
      if (found) return found;
      const limits = byIdOf(holder);
      known.byHolder.set(holder, limits);
      return limits;
    },
  };
}

/** The limits found for one content of the file. They are forgotten together, so that equal holders have the same object. */
const noneKnown = (file: LimitsFile) => ({
  file,
  byId: new Map<string, CallerLimits>(),
  byHolder: new WeakMap<Holder, CallerLimits>(),
});

/** The limits of what is stored, for dispatch. A key's part of its tenant's threads, tasks and messages is limited only if the limits file has a limit for it. */
export const quotasIn =
  (limits: TenantLimits): QuotaOf =>
  ({ tenant, keyId = '' }) => {
    const { key, ownOfKey, ...all } = limits.of({ tenant, keyId });
    const { mcpSessions, subscriptions } = key;
    const { threads, openTasks, waitingMessages, runsPerDay } = ownOfKey;
    return {
      tenant: storedIn(all.tenant),
      key: { threads, openTasks, waitingMessages, runsPerDay, mcpSessions, subscriptions },
    };
  };

const storedIn = (all: AllLimits): Quota => {
  const { threads, openTasks, waitingMessages, runsPerDay, mcpSessions, subscriptions } = all;
  return { threads, openTasks, waitingMessages, runsPerDay, mcpSessions, subscriptions };
};

/** Holders remembered at once: an OAuth issuer may have any number of subjects. */
const maxKnown = 10_000;

function callerLimitsOf(
  { defaults, tenants }: LimitsFile,
  { tenant, keyId }: Holder,
): Omit<CallerLimits, 'id'> {
  const own = Object.hasOwn(tenants, tenant) ? tenants[tenant] : undefined;
  const { keys = {}, ...ofTenant } = own ?? {};
  const ownOfKey = (Object.hasOwn(keys, keyId) ? keys[keyId] : undefined) ?? {};
  return {
    key: withRate(withRate(defaultLimits.key, defaults), ownOfKey),
    tenant: withRate(largerOf(defaultLimits.tenant, given(defaults)), ofTenant),
    ownOfKey: given(ownOfKey),
  };
}

/** Applies a holder's own limits. A rate without a burst allows two seconds' worth at once, as the default does. */
function withRate(inherited: AllLimits, own: Limits): AllLimits {
  const limits = { ...inherited, ...given(own) };
  if (own.requestsPerSecond !== undefined && own.burst === undefined)
    limits.burst = Math.max(1, Math.ceil(own.requestsPerSecond * 2));
  return limits;
}

const given = (limits: Limits) =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)) as Partial<AllLimits>;

/** What is held by the tenant as a whole is limited by the file's default itself. */
const heldByTenant = new Set(['threads', 'openTasks', 'waitingMessages', 'metadataBytes', 'runsPerDay']);

function largerOf(builtIn: AllLimits, defaults: Limits): AllLimits {
  const limits = { ...builtIn };
  for (const [name, value] of Object.entries(defaults) as [keyof Limits, number][])
    limits[name] = heldByTenant.has(name) ? value : Math.max(limits[name], value);
  return limits;
}
