import { expect, test } from 'vitest';
import { batchQueries } from './batch-queries.ts';

const itself = { keyOf: (query: number) => query };

test('queries of one turn of the event loop are sent together, and each gets its own result', async () => {
  const batches: number[][] = [];
  const double = batchQueries(async (numbers: number[]) => {
    batches.push(numbers);
    return numbers.map((n) => 2 * n);
  }, itself);
  expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6]);
  expect(await double(4)).toBe(8);
  expect(batches).toEqual([[1, 2, 3], [4]]);
});

test('queries that arrive during a request wait for it, and are sent once', async () => {
  const batches: number[][] = [];
  const first = Promise.withResolvers<void>();
  const echo = batchQueries(async (numbers: number[]) => {
    batches.push(numbers);
    if (batches.length === 1) await first.promise;
    return numbers;
  }, itself);
  const one = echo(1);
  await expect.poll(() => batches.length).toBe(1);
  const others = [echo(2)];
  await new Promise(setImmediate);
  others.push(echo(3));
  first.resolve();
  expect([await one, await Promise.all(others)]).toEqual([1, [2, 3]]);
  expect(batches).toEqual([[1], [2, 3]]);
});

test('a batch is no larger than its limit', async () => {
  const sizes: number[] = [];
  const echo = batchQueries(
    async (numbers: number[]) => {
      sizes.push(numbers.length);
      return numbers;
    },
    { ...itself, most: 3 },
  );
  expect(await Promise.all([1, 2, 3, 4, 5].map(echo))).toEqual([1, 2, 3, 4, 5]);
  expect(sizes).toEqual([3, 2]);
});

test('a failure rejects the whole batch, and the next batch is sent', async () => {
  let isAway = true;
  const echo = batchQueries(async (numbers: number[]) => {
    if (isAway) throw new Error('away');
    return numbers;
  }, itself);
  const settled = await Promise.allSettled([1, 2].map(echo));
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isAway = false;
  expect(await echo(3)).toBe(3);
});

test('equal queries of a batch are sent once, and get the same result', async () => {
  const batches: number[][] = [];
  const box = batchQueries(async (numbers: number[]) => {
    batches.push(numbers);
    return numbers.map((n) => ({ n }));
  }, itself);
  const [one, same, other] = await Promise.all([box(1), box(1), box(2)]);
  expect([one, other]).toEqual([{ n: 1 }, { n: 2 }]);
  expect(same).toBe(one);
  expect(await box(1)).not.toBe(one);
  expect(batches).toEqual([[1, 2], [1]]);
});
