import { expect, test } from 'vitest';
import { sessionLimitOf } from './session-limit.ts';

const mib = 1024 * 1024;

test('the configured number holds while there is memory', () => {
  expect(sessionLimitOf(5, 2, 8_000 * mib)).toBe(5);
});

test('little memory lowers it to the living sessions and those that still fit, never below one', () => {
  expect(sessionLimitOf(5, 2, 320 * mib)).toBe(4);
  expect(sessionLimitOf(5, 3, 10 * mib)).toBe(3);
  expect(sessionLimitOf(5, 0, 0)).toBe(1);
});
