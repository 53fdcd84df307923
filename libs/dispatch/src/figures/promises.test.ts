import { expect, test } from 'vitest';
import { orderOf } from './promises.ts';

const runs = new Map([
  ['run_1', 1],
  ['run_2', 2],
  ['run_3', 3],
]);
const ends = (...ids: number[]) =>
  ids.map(
    (n, i) => [`${i}-0`, ['type', 'run.completed', 'data', JSON.stringify({ runId: `run_${n}` })]] as const,
  );

test('finds nothing wrong with results in the order of their messages', () => {
  expect(orderOf(runs, ends(1, 2, 3))).toEqual({ runs: 3, gaps: 0, doubles: 0, reorderings: 0 });
});

test('counts gaps, second results and results out of order', () => {
  expect(orderOf(new Map([...runs, ['run_6', 6]]), ends(1, 3, 2, 2))).toEqual({
    runs: 4,
    gaps: 2,
    doubles: 1,
    reorderings: 1,
  });
});

test('ignores events of other types, and of runs that were not read', () => {
  const others = [['9-0', ['type', 'run.started', 'data', '{"runId":"run_1"}']] as const, ...ends(9)];
  expect(orderOf(runs, [...others, ...ends(1)])).toMatchObject({ doubles: 0, reorderings: 0 });
});
