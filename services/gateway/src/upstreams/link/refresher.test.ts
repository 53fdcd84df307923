import { EventEmitter, once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createRefresher } from './refresher.ts';

test('a change during a read is read too: the read may have come before it', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
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
  const begun = once(reads, 'begun');
  refresher.changed();
  await vi.runAllTimersAsync();
  await begun;
  list = 'after';
  refresher.changed();
  const first = once(reads, 'ended');
  gate.resolve();
  await first;
  expect(known).toBe('before');
  await vi.runAllTimersAsync();
  expect(known).toBe('after');
});
