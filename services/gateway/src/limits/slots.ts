import { AppError, type ErrorCode } from '@harness/contracts';
import { createCounts } from '@harness/runtime';
import type { AllLimits, Holder, TenantLimits } from './tenant-limits.ts';

/** Slots for what is in progress at this gateway: calls, streams, subscriptions. */
export interface Slots {
  /**
   * Takes a slot; returns the function that frees it (repeated calls have no effect). Throws the code of these
   * slots when the tenant, the key or the gateway has none left.
   */
  take(holder: Holder): () => void;
}

/** How slots are limited. */
export interface SlotsOptions {
  limits: TenantLimits;
  /** The limit of tenants and keys. */
  name: 'concurrentCalls' | 'streams' | 'subscriptions';
  /** Slots of the whole gateway. */
  most: number;
  code?: ErrorCode;
}

/** Slots reserved for tenants that hold fewer than `reservedEach`. */
const reserved = 1_000;
const reservedEach = 20;

const nouns: Record<SlotsOptions['name'], string> = {
  concurrentCalls: 'tool calls are in progress',
  streams: 'streams are open',
  subscriptions: 'subscriptions are open',
};

/** Creates the slots of one gateway. */
export function createSlots({ limits, name, most, code = 'limit_reached' }: SlotsOptions): Slots {
  const ofKeys = createCounts();
  const ofTenants = createCounts();
  let all = 0;
  const refusal = (of: 'tenant' | 'key' | 'gateway', allowed: number) =>
    new AppError(
      code,
      `Too many ${nouns[name]} (of this ${of}: ${allowed}). Wait for one to end, then try again.`,
      {
        details: { limit: name satisfies keyof AllLimits, of, allowed },
      },
    );
  return {
    take(holder) {
      const { tenant } = holder;
      const { id, tenant: tenants, key: keys } = limits.of(holder);
      if (ofKeys.of(id) >= keys[name]) throw refusal('key', keys[name]);
      if (ofTenants.of(tenant) >= tenants[name]) throw refusal('tenant', tenants[name]);
      const isFull = all >= most + (ofTenants.of(tenant) < reservedEach ? reserved : 0);
      if (isFull) throw refusal('gateway', most);
      all++;
      ofKeys.add(id, 1);
      ofTenants.add(tenant, 1);
      let isBack = false;
      return () => {
        if (isBack) return;
        isBack = true;
        all--;
        ofKeys.add(id, -1);
        ofTenants.add(tenant, -1);
      };
    },
  };
}
