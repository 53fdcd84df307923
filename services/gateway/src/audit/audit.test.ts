import { AppError, type AuditRecord } from '@harness/contracts';
import type { AuditBatch } from '@harness/dispatch';
import { createScrubber } from '@harness/runtime';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAudit } from './audit.ts';

/** An audit on a store that takes batches while `isUp`. */
function openAudit() {
  const lines: string[] = [];
  const batches: AuditBatch[] = [];
  const store = { isUp: true, fault: new AppError('unavailable', 'away') };
  let dropped = 0;
  const audit = createAudit({
    outputs: [{ write: (text) => void lines.push(...text.split('\n').filter(Boolean)) }],
    async append(batch) {
      if (!store.isUp) throw store.fault;
      batches.push(batch);
    },
    replica: 'gw',
    scrubber: createScrubber(),
    logger: { warn: () => undefined },
    onDropped(count) {
      dropped += count;
    },
  });
  return {
    audit,
    store,
    batches,
    lines: () => lines.map((line) => JSON.parse(line) as AuditRecord),
    stored: () =>
      batches.flatMap(({ records }) => records.map(({ text }) => JSON.parse(text) as AuditRecord)),
    dropped: () => dropped,
  };
}

const source = { address: '10.0.0.1', requestId: 'gw-1' };
const caller = { tenant: 'acme', keyId: 'k1' };
const change = { caller, source, action: 'deleteThread', target: 'thr_1', outcome: 'ok' };
const refusal = { ...change, outcome: 'forbidden' };

test('a record has who, from where, what, to what and how it ended, and goes everywhere', async () => {
  const { audit, lines, stored } = openAudit();
  audit.record({ ...change, caller: { tenant: 'acme', keyId: 'oauth:someone@example.com' } });
  await audit.close();
  const record = {
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    tenant: 'acme',
    keyId: 'oauth:someone@example.com',
    subject: 'someone@example.com',
    address: '10.0.0.1',
    action: 'deleteThread',
    target: 'thr_1',
    outcome: 'ok',
    requestId: 'gw-1',
  };
  expect(stored()).toEqual([record]);
  expect(lines()).toEqual([{ ...record, level: 30, time: record.at, service: 'gateway', audit: true }]);
});

test('equal refusals are one record with a count; changes are not merged', async () => {
  const { audit, stored } = openAudit();
  for (let i = 0; i < 3; i++) {
    audit.record(refusal);
    audit.record(change);
  }
  audit.record({ ...refusal, source: { ...source, address: '10.0.0.2' } });
  audit.record({ ...refusal, caller: undefined, outcome: 'unauthorized', target: undefined });
  await audit.close();
  const seen = stored().map(({ tenant, address, outcome, count }) => [tenant, address, outcome, count]);
  expect(seen).toEqual([
    ...Array.from({ length: 3 }, () => ['acme', '10.0.0.1', 'ok', undefined]),
    ['acme', '10.0.0.1', 'forbidden', 3],
    ['acme', '10.0.0.2', 'forbidden', undefined],
    [null, '10.0.0.1', 'unauthorized', undefined],
  ]);
});

test('a refusal is written within about a second, without an end of the process', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { audit, stored } = openAudit();
  audit.record(refusal);
  audit.record(refusal);
  await vi.advanceTimersByTimeAsync(900);
  expect(stored()).toEqual([]);
  await vi.advanceTimersByTimeAsync(300);
  expect(stored().map(({ count }) => count)).toEqual([2]);
});

test('a flood of different refusals is counted, and bounded', async () => {
  const { audit, stored } = openAudit();
  for (let i = 0; i < 5_000; i++) audit.record({ ...refusal, target: `thr_${i}` });
  await audit.close();
  expect(stored()).toHaveLength(1_001);
  expect(stored().reduce((sum, { count = 1 }) => sum + count, 0)).toBe(5_000);
  expect(stored().at(-1)).toMatchObject({ tenant: null, action: '*', target: null, count: 4_000 });
});

test('a full batch is sent at once; records that come while it is sent wait for the next one', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { audit, batches } = openAudit();
  const sizes = () => batches.map(({ records }) => records.length);
  for (let i = 0; i < 210; i++) audit.record(change);
  await vi.advanceTimersByTimeAsync(0);
  expect(sizes()).toEqual([200]);
  await vi.advanceTimersByTimeAsync(200);
  expect(sizes()).toEqual([200, 10]);
  await audit.close();
});

test('records that Redis does not accept are sent again as the same batch, and dropped beyond a limit', async () => {
  vi.useFakeTimers();
  try {
    const { audit, store, batches, stored, lines, dropped } = openAudit();
    store.isUp = false;
    for (let i = 0; i < 10_050; i++) audit.record({ ...change, target: `thr_${i}` });
    await vi.advanceTimersByTimeAsync(5_000);
    expect([stored().length, dropped(), lines().length]).toEqual([0, 50, 10_050]);
    store.isUp = true;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(stored().map(({ target }) => target)).toEqual(
      Array.from({ length: 10_000 }, (_, i) => `thr_${i}`),
    );
    expect(batches.every(({ records }) => records.length <= 200)).toBe(true);
    expect(new Set(batches.map(({ batch }) => batch)).size).toBe(batches.length);
  } finally {
    vi.useRealTimers();
  }
});

test('a batch that Redis refuses for good is dropped and counted, and the next ones are stored', async () => {
  const { audit, store, stored, dropped } = openAudit();
  Object.assign(store, { isUp: false, fault: new AppError('internal', 'a bug') });
  audit.record(change);
  await expect.poll(dropped).toBe(1);
  store.isUp = true;
  audit.record({ ...change, target: 'thr_2' });
  await audit.close();
  expect(stored().map(({ target }) => target)).toEqual(['thr_2']);
});

test('closing does not wait for a Redis that is down', async () => {
  const { audit, store, dropped } = openAudit();
  store.isUp = false;
  audit.record(change);
  await audit.close();
  expect(dropped()).toBe(1);
});

test('what waits at the exit of the process is written; a closed audit listens no longer', async () => {
  const before = process.listeners('exit');
  const { audit, lines } = openAudit();
  audit.record(change);
  audit.record(refusal);
  for (const atExit of process.listeners('exit')) if (!before.includes(atExit)) atExit(1);
  expect(lines().map(({ outcome }) => outcome)).toEqual(['ok', 'forbidden']);
  await audit.close();
  expect(process.listeners('exit')).toEqual(before);
});

test('a target is short and has no secret', async () => {
  const { audit, stored } = openAudit();
  audit.record({ ...change, target: `sk-${'ant'}-${'x1'.repeat(20)}` });
  audit.record({ ...change, target: 'x'.repeat(10_000) });
  await audit.close();
  expect(stored().map(({ target }) => target)).toEqual(['[secret]', 'x'.repeat(200)]);
});
