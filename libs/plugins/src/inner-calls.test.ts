import { expect, test } from 'vitest';
import { createInnerCalls } from './inner-calls.ts';

const tooMany = { code: 'limit_reached' };

test('calls within calls are at most ten levels deep, also between plugins', async () => {
  const [one, other] = [createInnerCalls(), createInnerCalls()];
  const nested = (levels: number): Promise<string> =>
    levels === 0 ? Promise.resolve('end') : (levels % 2 ? one : other)('acme', () => nested(levels - 1));
  expect(await nested(10)).toBe('end');
  await expect(nested(11)).rejects.toMatchObject(tooMany);
  expect(await nested(10)).toBe('end');
});

test('a plugin has at most 200 calls in progress for a tenant; each end makes room for another', async () => {
  const [one, other] = [createInnerCalls(), createInnerCalls()];
  const { promise, resolve } = Promise.withResolvers<void>();
  const calls = Array.from({ length: 200 }, () => one('acme', () => promise));
  await expect(one('acme', async () => 1)).rejects.toMatchObject(tooMany);
  expect(await other('acme', async () => 1)).toBe(1);
  expect(await one('globex', async () => 1)).toBe(1);
  resolve();
  await Promise.all(calls);
  expect(await one('acme', async () => 1)).toBe(1);
});
