import { expect, test } from 'vitest';
import { createOwnRings } from './own-rings.ts';

/** Rings whose `onRing` ends only when the test ends it. */
function open(concurrency: number) {
  const looks: { threadId: string; end(more?: boolean): void; fail(): void }[] = [];
  const failed: string[] = [];
  const rings = createOwnRings({
    concurrency,
    onRing: (threadId) =>
      new Promise((resolve, reject) => {
        looks.push({ threadId, end: (more = false) => resolve(more), fail: () => reject(new Error('no')) });
      }),
    onFailed: (threadId) => failed.push(threadId),
  });
  const order = () => looks.map(({ threadId }) => threadId);
  const looked = (count: number) => expect.poll(() => looks.length).toBe(count);
  return { rings, looks, failed, order, looked };
}

test('a thread that is rung while it is handled is handled exactly once more, however often it was rung', async () => {
  const { rings, looks, order, looked } = open(5);
  for (let n = 0; n < 3; n++) rings.ring('a');
  expect(order()).toEqual(['a']);
  looks[0]?.end();
  await looked(2);
  looks[1]?.end();
  await rings.close();
  expect(order()).toEqual(['a', 'a']);
});

test('concurrency is bounded, and a thread with more to do goes to the end of the queue', async () => {
  const { rings, looks, order, looked } = open(1);
  for (const threadId of ['a', 'b']) rings.ring(threadId);
  expect(order()).toEqual(['a']);
  looks[0]?.end(true);
  await looked(2);
  looks[1]?.end();
  await looked(3);
  expect(order()).toEqual(['a', 'b', 'a']);
});

test('a failure is reported and does not block other threads; after close no thread is handled', async () => {
  const { rings, looks, failed, order, looked } = open(1);
  for (const threadId of ['a', 'b']) rings.ring(threadId);
  looks[0]?.fail();
  await looked(2);
  expect(failed).toEqual(['a']);
  const closed = rings.close();
  rings.ring('c');
  looks[1]?.end(true);
  await closed;
  expect(order()).toEqual(['a', 'b']);
});
