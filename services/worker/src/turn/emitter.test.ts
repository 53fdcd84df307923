import type { Lease, LeaseEvent, Turn } from '@harness/dispatch';
import { expect, test } from 'vitest';
import { createEmitter } from './emitter.ts';

/** An emitter with a lease whose `emit` the test provides. */
function openEmitter(answer: () => Promise<{ lost: boolean; cancel: boolean; interrupt: boolean }>) {
  const calls: Parameters<Lease['emit']>[1][] = [];
  const signals: string[] = [];
  let counter = 0;
  const lease = {
    emit(_turn: Turn, batch: (typeof calls)[number]) {
      calls.push(batch);
      return answer();
    },
  } as unknown as Lease;
  const emitter = createEmitter({
    lease,
    turn: {} as Turn,
    nextCounter: () => ++counter,
    onLost: () => void signals.push('lost'),
    onCancel: () => void signals.push('cancel'),
    onInterrupt: () => void signals.push('interrupt'),
  });
  return { emitter, calls, signals };
}

const delta = (text: string): LeaseEvent => ({ type: 'agent.message_delta', text, live: true });

test('events that arrive during a call are sent with the next one, in order, adjacent deltas joined', async () => {
  const { emitter, calls } = openEmitter(async () => ({ lost: false, cancel: false, interrupt: false }));
  emitter.recordPath('warm');
  expect(calls).toEqual([]);
  const message = { type: 'agent.message', text: 'abc' } as const;
  for (const event of [delta('a'), delta('b'), delta('c'), message, delta('d')]) emitter.push(event);
  await emitter.flush();
  expect(calls.map(({ counter }) => counter)).toEqual(calls.map((_, n) => n + 1));
  expect(calls[0]?.path).toBe('warm');
  expect(calls.flatMap(({ events }) => events.map((event) => event.text)).join('|')).toBe('a|bc|abc|d');
});

test('a path without events is written by the flush', async () => {
  const { emitter, calls } = openEmitter(async () => ({ lost: false, cancel: false, interrupt: false }));
  emitter.recordPath('cold');
  await emitter.flush();
  expect(calls).toEqual([{ counter: 1, events: [], path: 'cold' }]);
});

test('a lost lease and a request to cancel are reported', async () => {
  const lost = openEmitter(async () => ({ lost: true, cancel: false, interrupt: false }));
  lost.emitter.push(delta('a'));
  await lost.emitter.flush();
  const cancelled = openEmitter(async () => ({ lost: false, cancel: true, interrupt: false }));
  cancelled.emitter.push(delta('a'));
  await cancelled.emitter.flush();
  expect([lost.signals, cancelled.signals]).toEqual([['lost'], ['cancel']]);
});

test('an unwritten event counts as a lost lease: no result may follow it', async () => {
  const { emitter, signals } = openEmitter(() => Promise.reject(new Error('away')));
  emitter.push(delta('a'));
  await emitter.flush();
  expect(signals).toEqual(['lost']);
});
