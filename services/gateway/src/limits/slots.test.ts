import { expect, test } from 'vitest';
import { createSlots } from './slots.ts';
import { createTenantLimits } from './tenant-limits.ts';

const ada = { tenant: 'acme', keyId: 'ada' };
const bob = { tenant: 'acme', keyId: 'bob' };

test('limits the slots of one key and of a tenant, and frees each once', () => {
  const limits = createTenantLimits(() => ({
    defaults: { streams: 2 },
    tenants: { acme: { streams: 3, keys: {} } },
  }));
  const slots = createSlots({ limits, name: 'streams', most: 100, code: 'too_many_streams' });
  const giveBack = slots.take(ada);
  slots.take(ada);
  expect(() => slots.take(ada)).toThrow('of this key: 2');
  slots.take(bob);
  expect(() => slots.take(bob)).toThrow('of this tenant: 3');
  giveBack();
  giveBack(); // the second call has no effect
  slots.take(bob);
  expect(() => slots.take(ada)).toThrow('of this tenant: 3');
});

test('a tenant that holds few gets a slot while others hold all the rest', () => {
  const limits = createTenantLimits(() => ({ defaults: { concurrentCalls: 100 }, tenants: {} }));
  const slots = createSlots({ limits, name: 'concurrentCalls', most: 60 });
  for (let n = 0; n < 60; n++) slots.take(ada);
  expect(() => slots.take(ada)).toThrow('of this gateway');
  const quiet = { tenant: 'quiet', keyId: 'k' };
  for (let n = 0; n < 20; n++) slots.take(quiet);
  expect(() => slots.take(quiet)).toThrow('of this gateway');
});
