import { expect, test } from 'vitest';
import { createTenantLimits, defaultLimits, LimitsFile } from './tenant-limits.ts';

test('a key has its own limits, else the defaults of the file, else the built-in ones', () => {
  const file = LimitsFile.parse({
    defaults: { requestsPerSecond: 50, threads: 10 },
    tenants: { acme: { threads: 20, keys: { ci: { requestsPerSecond: 5, openTasks: 1 } } } },
  });
  const limits = createTenantLimits(() => file);
  const ci = limits.of({ tenant: 'acme', keyId: 'ci' });
  expect(ci.key).toMatchObject({ requestsPerSecond: 5, burst: 10, openTasks: 1 });
  expect(ci.tenant).toMatchObject({ requestsPerSecond: 2_000, threads: 20 });
  expect(ci.ownOfKey).toEqual({ requestsPerSecond: 5, openTasks: 1 });
  const other = limits.of({ tenant: 'other', keyId: 'ci' });
  expect(other.key).toMatchObject({ requestsPerSecond: 50, burst: 100, streams: defaultLimits.key.streams });
  expect(other.tenant.threads).toBe(10);
  expect(limits.of({ tenant: 'acme', keyId: 'ci' })).toBe(ci);
});

test('names of Object.prototype are no tenants and no keys', () => {
  const limits = createTenantLimits(() => LimitsFile.parse({ tenants: { acme: {} } }));
  expect(limits.of({ tenant: 'constructor', keyId: 'toString' }).key).toEqual(defaultLimits.key);
});

test('changed limits apply at once', () => {
  let file = LimitsFile.parse({ defaults: { streams: 1 } });
  const limits = createTenantLimits(() => file);
  const holder = { tenant: 'acme', keyId: 'k' };
  expect(limits.of(holder).key.streams).toBe(1);
  file = LimitsFile.parse({ defaults: { streams: 2 } });
  expect(limits.of(holder).key.streams).toBe(2);
});
