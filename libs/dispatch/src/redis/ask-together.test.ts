import { expect, test } from 'vitest';
import { askTogether } from './ask-together.ts';

const itself = { keyOf: (question: number) => question };

test('questions of one turn of the event loop are asked together, and each gets its own result', async () => {
  const asked: number[][] = [];
  const double = askTogether(async (numbers: number[]) => {
    asked.push(numbers);
    return numbers.map((n) => 2 * n);
  }, itself);
  expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6]);
  expect(await double(4)).toBe(8);
  expect(asked).toEqual([[1, 2, 3], [4]]);
});

test('questions that arrive during a request wait for it, and are asked once', async () => {
  const asked: number[][] = [];
  const first = Promise.withResolvers<void>();
  const echo = askTogether(async (numbers: number[]) => {
    asked.push(numbers);
    if (asked.length === 1) await first.promise;
    return numbers;
  }, itself);
  const one = echo(1);
  await expect.poll(() => asked.length).toBe(1);
  const others = [echo(2)];
  await new Promise(setImmediate);
  others.push(echo(3));
  first.resolve();
  expect([await one, await Promise.all(others)]).toEqual([1, [2, 3]]);
  expect(asked).toEqual([[1], [2, 3]]);
});

test('a batch is no larger than its limit', async () => {
  const sizes: number[] = [];
  const echo = askTogether(
    async (numbers: number[]) => {
      sizes.push(numbers.length);
      return numbers;
    },
    { ...itself, most: 3 },
  );
  expect(await Promise.all([1, 2, 3, 4, 5].map(echo))).toEqual([1, 2, 3, 4, 5]);
  expect(sizes).toEqual([3, 2]);
});

test('a failure rejects the whole batch, and the next batch is asked again', async () => {
  let isAway = true;
  const echo = askTogether(async (numbers: number[]) => {
    if (isAway) throw new Error('away');
    return numbers;
  }, itself);
  const settled = await Promise.allSettled([1, 2].map(echo));
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isAway = false;
  expect(await echo(3)).toBe(3);
});

test('equal questions of a batch are asked once, and get the same answer', async () => {
  const asked: number[][] = [];
  const box = askTogether(async (numbers: number[]) => {
    asked.push(numbers);
    return numbers.map((n) => ({ n }));
  }, itself);
  const [one, same, other] = await Promise.all([box(1), box(1), box(2)]);
  expect([one, other]).toEqual([{ n: 1 }, { n: 2 }]);
  expect(same).toBe(one);
  expect(await box(1)).not.toBe(one);
  expect(asked).toEqual([[1, 2], [1]]);
});
