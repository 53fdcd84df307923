import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { drawRatios, ratiosIn } from './draw-figures.ts';

const fileOf = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

test('the first ratio of a row is read with its spread and its peer', () => {
  const readme =
    '| a | 5 ms | 3.66 × [4.00..3.24] a job; and more |\n| b | 2 ms | |\n| c | 1 | 2 × without a spread |';
  expect(ratiosIn(readme)).toEqual([{ what: 'a', peer: 'a job', median: 3.66, best: 3.24, worst: 4 }]);
});

test('figures.svg shows the table of the README; draw it anew with `npm run bench -- draw`', () => {
  const ratios = ratiosIn(fileOf('README.md'));
  expect(ratios.length).toBeGreaterThan(8);
  expect(fileOf('figures.svg')).toBe(drawRatios(ratios));
});
