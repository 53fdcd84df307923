import { expect, test } from 'vitest';
import { orderOf } from './promises.ts';

const runs = new Map([
  ['run_1', 1],
  ['run_2', 2],
  ['run_3', 3],
]);

test('finds nothing wrong with results in the order of their messages', () => {
  expect(orderOf(runs, ['run_1', 'run_2', 'run_3'])).toEqual({
    runs: 3,
    gaps: 0,
    doubles: 0,
    reorderings: 0,
  });
});

test('counts gaps, second results and results out of order', () => {
  const withGap = new Map([...runs, ['run_6', 6]]);
  expect(orderOf(withGap, ['run_1', 'run_3', 'run_2', 'run_2'])).toEqual({
    runs: 4,
    gaps: 2,
    doubles: 1,
    reorderings: 1,
  });
});

test('ignores results of runs that were not read', () => {
  expect(orderOf(runs, ['run_0', 'run_1'])).toMatchObject({ doubles: 0, reorderings: 0 });
});
