import { expect, test } from 'vitest';
import { createPatience } from './patience.ts';

test('calls what is still waiting after the time, and nothing that was prevented, at once or later', async () => {
  const patience = createPatience(10);
  const called: string[] = [];
  patience.begin(() => void called.push('prevented at once'))();
  const prevent = patience.begin(() => void called.push('prevented later'));
  setImmediate(prevent); // after the timers of this turn have been set
  await new Promise<void>((resolve) => {
    patience.begin(() => {
      called.push('due');
      resolve();
    });
  });
  expect(called).toEqual(['due']);
});
