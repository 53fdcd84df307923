import { expect, test } from 'vitest';
import { createFailures } from './failures.ts';

test('a line fails the given number of times in each session', () => {
  const failures = createFailures();
  const take = (session: string) => failures.take(session, 'line', 2);
  expect([take('a'), take('a'), take('b'), take('a'), take('b'), take('b')]).toEqual([
    true,
    true,
    true,
    false,
    true,
    false,
  ]);
});

test('the least recently used line is dropped first', () => {
  const failures = createFailures(2);
  const take = (line: string) => failures.take('a', line, 1);
  expect([take('1'), take('2'), take('1'), take('3')]).toEqual([true, true, false, true]);
  expect([take('1'), take('2')]).toEqual([false, true]);
});
