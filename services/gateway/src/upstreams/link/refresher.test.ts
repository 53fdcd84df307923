import { EventEmitter, once } from 'node:events';

import { expect, onTestFinished, test } from 'vitest';
import { createRefresher } from './refresher.ts';

test('a change during a read is read too: the read may have come before it', async () => {
  const reads = new EventEmitter();
  const gate = Promise.withResolvers<void>();
  let [list, known] = ['before', ''];
  const refresher = createRefresher(async () => {
    const seen = list;
    reads.emit('begun');
    await gate.promise;
    known = seen;
    reads.emit('ended');
  });
  onTestFinished(refresher.close);
  refresher.changed();
  await once(reads, 'begun');
  list = 'after';
  refresher.changed();
  const first = once(reads, 'ended');
  gate.resolve();
  await first;
  expect(known).toBe('before');
  await once(reads, 'ended');
  expect(known).toBe('after');
});
