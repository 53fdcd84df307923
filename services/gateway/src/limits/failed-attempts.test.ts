import { expect, test } from 'vitest';
import { createFailedAttempts } from './failed-attempts.ts';

test('an address may fail 20 times a second; an IPv6 network counts as one address', () => {
  let now = 10_000;
  const failures = createFailedAttempts({ now: () => now });
  for (let n = 0; n < 20; n++) failures.count('10.0.0.1');
  expect(() => failures.count('10.0.0.1')).toThrow('Too many requests without a valid credential');
  failures.count('10.0.0.2');
  for (let n = 0; n < 20; n++) failures.count(`2001:db8::${n}`);
  expect(() => failures.count('2001:db8:0:0:ffff::1')).toThrow();
  failures.count('2001:db8:0:1::1');
  now += 1_000;
  failures.count('10.0.0.1');
});
