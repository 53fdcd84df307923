import { expect, test } from 'vitest';
import { ttlMs } from './fault-fleet.ts';
import { killWorker, stopWorker } from './faults.ts';
import type { Load } from './load.ts';
import { violationsOf } from './under-faults.ts';
import { until } from './until.ts';

test('F15 the model is overloaded, refuses, hangs, breaks off: each turn ends, each thread continues', async () => {
  const env = { HARNESS_TURN_TIMEOUT_MS: '12000', HARNESS_MAX_SESSIONS: '8' };
  const wrong = await violationsOf({ workers: 1, env, real: true }, async ({ load, settled, client }) => {
    const faults = ['fail: 529 2\nsay: 1', 'fail: 400', 'say: begun\nhang:', 'say: begun\ncut:'];
    const loads: Load[] = [];
    // In pairs: on a busy machine, four cold starts at once take seconds.
    for (const pair of [faults.slice(0, 2), faults.slice(2)]) {
      const begun = pair.map((fault) => {
        const scriptOf = (n: number) => (n === 1 ? fault : `say: ${n}`);
        return load({ threads: 1, messages: 2, scriptOf, mayFail: (n) => n === 1 });
      });
      const both = await Promise.all(begun);
      await Promise.all(both.map(settled));
      loads.push(...both);
    }
    const runs = await Promise.all(loads.map(({ threadIds: [threadId = ''] }) => client.runs(threadId)));
    const ends = runs.map(([first]) => first?.error?.code ?? first?.status);
    expect(ends.slice(0, 3)).toEqual(['success', 'model_error', 'turn_timeout']);
    expect(['success', 'model_error', 'turn_timeout']).toContain(ends[3]);
  });
  expect(wrong).toEqual([]);
});

test('F1, F2 with the real subprocess: nothing is lost, and no two processes act for a thread', async () => {
  const wrong = await violationsOf({ workers: 2, real: true }, async (story) => {
    const record = (n: number) => `call: effects__record {"n":${n}}`;
    const scriptOf = (n: number) => [record(n), 'sleep: 1000', record(n), `say: ${n}`].join('\n');
    const { accepted } = await story.load({ threads: 2, messages: 4, scriptOf });
    await until('turns are under way', () => story.effects.read().length > 2);
    const [one, other] = story.workers;
    await stopWorker(story, 2 * ttlMs, one);
    await killWorker(story, other);
    await accepted;
  });
  expect(wrong).toEqual([]);
});
