import type { FleetFigures } from '@harness/contracts';
import { expect, test } from 'vitest';
import { percentileOf, sampleOf } from './figures.ts';

const durations = (...counts: number[]) => ({
  count: counts.at(-1) ?? 0,
  sum: 1,
  buckets: counts.map((count, i) => ({ le: [0.1, 1, 10][i] as number, count })),
});
const figures = (at: string, runs: [status: string, path: string, count: number][], total: number[]) =>
  ({
    at,
    workers: 1,
    sessions: { busy: 1, idle: 2, spare: 1, max: 5 },
    pending: 3,
    oldestWaitingMs: 1_500,
    runs: runs.map(([status, path, count]) => ({ status, path, count })),
    phases: {
      queued: durations(0, 0, 0),
      session: durations(),
      first_token: durations(),
      total: durations(...total),
    },
    models: [
      {
        model: 'm',
        agent: '',
        tenant: 't',
        requests: 1,
        inputTokens: 100 * total.length,
        outputTokens: 5,
        costUsd: 1,
      },
    ],
    bus: { queued: 2, assigned: 1, inProgress: 1, dead: 0 },
  }) as unknown as FleetFigures;

test('totals of two moments become rates of the time between them', () => {
  const before = figures(
    '2026-01-01T00:00:00.000Z',
    [
      ['success', 'warm', 10],
      ['error', 'cold', 1],
    ],
    [10, 11, 11],
  );
  const after = figures(
    '2026-01-01T00:00:30.000Z',
    [
      ['success', 'warm', 13],
      ['success', 'cold', 1],
      ['error', 'cold', 1],
      ['cancelled', 'none', 4],
    ],
    [10, 15, 15],
  );
  expect(sampleOf(before, after)).toMatchObject({
    successPerMin: 8,
    failedPerMin: 0,
    warm: 75,
    p50: 0.55,
    queued95: null,
    pending: 3,
    oldestS: 1.5,
    costPerHour: 0,
    inHand: 2,
  });
});

test('the first moment has no rates', () => {
  const first = sampleOf(undefined, figures('2026-01-01T00:00:00.000Z', [], [0, 0, 0]));
  expect(first).toMatchObject({ successPerMin: null, p95: null, busy: 1 });
});

test('a percentile lies within its bucket; beyond the last one it is its bound', () => {
  expect(percentileOf(durations(0, 10, 10), 0.5)).toBeCloseTo(0.55);
  expect(percentileOf({ ...durations(0, 0, 0), count: 4 }, 0.95)).toBe(10);
  expect(percentileOf(durations(0, 0, 0), 0.5)).toBeNull();
});
