import { expect, test } from 'vitest';
import { timeIn } from './time.ts';

const now = new Date('2026-11-21T08:00:00Z');

test('returns the time in UTC and in the zone', () => {
  expect(timeIn('Europe/Berlin', now)).toMatch(
    /^2026-11-21T08:00:00.000Z is Saturday.* 21 November 2026.* 09:00:00/,
  );
});

test('an unknown zone is an error', () => {
  expect(() => timeIn('Mars/Olympus', now)).toThrow('"Mars/Olympus" is not a time zone');
});
