import { AppError } from '@harness/contracts';
import { expect, test } from 'vitest';
import { workerTroubleOf } from './worker-trouble.ts';

const redis = new AppError('unavailable', 'Redis is full and takes no writes (OOM).');

test('a worker is ready while it works, its heartbeat arrives and Redis accepts writes', () => {
  expect(workerTroubleOf({ phase: 'working', redis: undefined, healthy: true })).toBeUndefined();
});

test.each([
  [{ phase: 'starting', redis: undefined, healthy: false }, 'worker', 'starting'],
  [{ phase: 'draining', redis, healthy: false }, 'worker', 'shutting down'],
  [{ phase: 'working', redis, healthy: false }, 'redis', 'OOM'],
  [{ phase: 'working', redis: undefined, healthy: false }, 'worker', 'heartbeat'],
] as const)('%o: not ready', (state, part, word) => {
  const trouble = workerTroubleOf(state);
  expect(trouble?.part).toBe(part);
  expect(trouble?.error.message).toContain(word);
});
