import { expect, test } from 'vitest';
import { figureOf, ratioOf, textOf } from './figures.ts';

test('a figure is the median of the rounds, with the spread', () => {
  expect(textOf(figureOf([3, 1, 200]), 'ms')).toBe('3.00 ms [1.00..200]');
});

test('ratios are taken round by round', () => {
  expect(ratioOf([2, 30], [1, 10])).toEqual({ median: 3, min: 2, max: 3 });
});
