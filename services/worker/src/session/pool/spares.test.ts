import { createLogger } from '@harness/runtime';
import { expect, test } from 'vitest';
import type { Opened } from '../open-session.ts';
import { createSpares, mostWithin } from './spares.ts';

/** Spares whose starts and clock the test controls. */
function open(wanted: number | 'auto', left = 10) {
  const starts: { done(): void; fail(): void; die(): void; killed: boolean }[] = [];
  let clock = 0;
  const spares = createSpares({
    wanted,
    processesLeft: () => left,
    logger: createLogger('test', 'silent'),
    now: () => clock,
    open: () =>
      new Promise<Opened>((resolve, reject) => {
        let die: () => void = () => undefined;
        const exited = new Promise<void>((ended) => {
          die = ended;
        });
        const session = {
          ended: false,
          exited,
          kill() {
            start.killed = true;
            die();
          },
        };
        const start = {
          done: () => resolve({ session, path: 'cold' } as unknown as Opened),
          fail: () => reject(new Error('no')),
          die,
          killed: false,
        };
        starts.push(start);
      }),
  });
  const pass = (ms: number) => {
    clock += ms;
  };
  const started = (count: number) => expect.poll(() => starts.length).toBe(count);
  const stocked = (count: number) => expect.poll(() => spares.count()).toBe(count);
  return { spares, starts, started, stocked, pass };
}

test('auto: one at first, more when new threads arrive faster than sessions start', async () => {
  const { spares, starts, started, stocked, pass } = open('auto');
  await started(1);
  pass(1_000);
  starts[0]?.done();
  await stocked(1);
  expect(spares.take()).toBeDefined();
  pass(100);
  expect(spares.take()).toBeUndefined();
  await started(3); // two at the same time, of the three wanted now
  starts[1]?.done();
  starts[2]?.done();
  await started(4);
  starts[3]?.done();
  await stocked(3);
  spares.close();
});

test('no more than memory allows', async () => {
  const { spares, starts, started, stocked } = open(5, 1);
  await started(1);
  starts[0]?.done();
  await stocked(1);
  spares.close();
});

test('a spare that dies is replaced, after a delay if it died soon after its start', async () => {
  const { spares, starts, started, stocked, pass } = open(1);
  await started(1);
  starts[0]?.done();
  await stocked(1);
  pass(60_000);
  starts[0]?.die();
  await started(2);
  starts[1]?.done();
  await stocked(1);
  starts[1]?.die();
  await stocked(0);
  expect(starts).toHaveLength(2);
  pass(6_000);
  spares.take();
  await started(3);
  spares.close();
});

test('mostWithin counts the most times within a span', () => {
  expect(mostWithin([], 10)).toBe(0);
  expect(mostWithin([1, 2, 3, 20, 25, 31], 10)).toBe(3);
  expect(mostWithin([0, 11, 22], 10)).toBe(1);
});
