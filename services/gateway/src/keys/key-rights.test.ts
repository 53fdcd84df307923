import { expect, test } from 'vitest';
import type { Caller } from '../http/credentials/authenticate.ts';
import { rightsFrom } from './key-rights.ts';

const callerWith = (more: Partial<Caller> = {}): Caller => ({
  principal: { keyId: 'k', tenant: 'acme', scopes: ['admin', 'tools', 'threads'] },
  ...more,
});
const tools = ['weather__*', 'time__now'];
const in1h = new Date(Date.now() + 3_600_000).toISOString();
const in2h = new Date(Date.now() + 7_200_000).toISOString();

test('a key has the wanted rights, and by default its maker’s tenant, tools and end', () => {
  expect(rightsFrom(callerWith(), { scopes: ['tools', 'tools'] })).toEqual({
    tenant: 'acme',
    scopes: ['tools'],
  });
  const limited = callerWith({ tools, endsAt: Date.parse(in2h) });
  expect(rightsFrom(limited, { scopes: ['tools'] })).toEqual({
    tenant: 'acme',
    scopes: ['tools'],
    tools,
    notAfter: in2h,
  });
  const wanted = { tenant: 'acme', tools: ['weather__rain', 'weather__s*'], notAfter: in1h };
  expect(rightsFrom(limited, { scopes: ['threads'], ...wanted })).toEqual({ scopes: ['threads'], ...wanted });
  expect(rightsFrom(limited, { scopes: ['tools'], tools: [] }).tools).toEqual([]);
});

test.for([
  ['another tenant', { tenant: 'umbrella' }, /tenant "umbrella"/],
  ['a scope', { scopes: ['fleet' as const] }, /scope "fleet"/],
  ['a tool', { tools: ['bus__poll'] }, /tool "bus__poll"/],
  ['more tools', { tools: ['*'] }, /tool "\*"/],
  ['a wider prefix', { tools: ['time__*'] }, /tool "time__\*"/],
  ['a later end', { notAfter: in2h }, /outlive/],
] as const)('a key never has more than its maker: %s', ([, wanted, message]) => {
  const limited = callerWith({ tools, endsAt: Date.parse(in1h) });
  expect(() => rightsFrom(limited, { scopes: ['tools'], ...wanted })).toThrow(message);
});

test('a key that is never valid is refused', () => {
  const make = (times: object) => () => rightsFrom(callerWith(), { scopes: ['tools'], ...times });
  expect(make({ notAfter: '2020-01-01T00:00:00Z' })).toThrow('never be valid');
  expect(make({ notBefore: in2h, notAfter: in1h })).toThrow('never be valid');
  expect(make({ notBefore: in1h, notAfter: in2h })).not.toThrow();
});
