import { expect, test } from 'vitest';
import { percentileOf } from './figures.ts';

const buckets = [
  { le: 1, count: 5 },
  { le: 2, count: 5 },
  { le: 4, count: 9 },
];

test('estimates percentiles within a bucket', () => {
  expect(percentileOf({ count: 10, sum: 20, buckets }, 0.5)).toBe(1);
  expect(percentileOf({ count: 10, sum: 20, buckets }, 0.7)).toBe(3);
});

test('has no percentile without values, or beyond the last bucket', () => {
  expect(percentileOf({ count: 0, sum: 0, buckets: [] }, 0.5)).toBeNull();
  expect(percentileOf({ count: 10, sum: 20, buckets }, 0.95)).toBeNull();
});
