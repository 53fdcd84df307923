import { AppError } from '@harness/contracts';
import type { Holder, TenantLimits } from './tenant-limits.ts';

/** Throws `invalid_request` for a value whose JSON is longer than `most` bytes; undefined and null are none. */
export function checkBytes(value: unknown, { name, most }: { name: string; most: number }): void {
  if (value === undefined || value === null) return;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes > most)
    throw new AppError('invalid_request', `"${name}" has ${bytes} bytes; it may have ${most}.`, {
      details: { limit: 'metadataBytes', allowed: most },
    });
}

/** Largest `metadata` of a caller, bytes of JSON. */
export function metadataLimitOf(limits: TenantLimits, { principal }: { principal: Holder }): number {
  const { key, tenant } = limits.of(principal);
  return Math.min(key.metadataBytes, tenant.metadataBytes);
}
