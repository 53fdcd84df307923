import { expect, it } from 'vitest';
import { withTimeLimit } from './time-limit.ts';

const timeoutError = () => new Error('too late');

it('returns a result that arrives in time, sync or async', async () => {
  expect(await withTimeLimit({ timeoutMs: 1000, timeoutError }, () => 1)).toBe(1);
  expect(await withTimeLimit({ timeoutMs: 1000, timeoutError }, async () => 2)).toBe(2);
  const failing = () => {
    throw new Error('own');
  };
  await expect(withTimeLimit({ timeoutMs: 1000, timeoutError }, failing)).rejects.toThrow('own');
});

it('drops a late failure without an unhandled rejection', async () => {
  const late = Promise.withResolvers<never>();
  await expect(withTimeLimit({ timeoutMs: 5, timeoutError }, () => late.promise)).rejects.toThrow('too late');
  late.reject(new Error('too late'));
  await new Promise(setImmediate);
});

it('rejects with the timeout error, not with the abort that it causes', async () => {
  const obedient = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  await expect(withTimeLimit({ timeoutMs: 5, timeoutError }, obedient)).rejects.toThrow('too late');
});
