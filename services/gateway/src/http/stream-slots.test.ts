import { expect, test } from 'vitest';
import { createStreamSlots } from './stream-slots.ts';

const ada = { tenant: 'acme', keyId: 'ada' };
const bob = { tenant: 'acme', keyId: 'bob' };

test('limits the slots of one key, and of all keys together', () => {
  const places = createStreamSlots({ most: 3, mostOfKey: 2 });
  const giveBack = places.take(ada);
  places.take(ada);
  expect(() => places.take(ada)).toThrow('Too many');
  places.take(bob);
  expect(() => places.take(bob)).toThrow('Too many');
  giveBack();
  giveBack(); // the second call has no effect
  places.take(bob);
  expect(() => places.take(ada)).toThrow('Too many');
});
