import type { Run, ThreadEvent } from '@harness/contracts';
import { describe, expect, test } from 'vitest';
import { ttlMs } from '../fault-fleet.ts';
import { stopWorker } from '../faults.ts';
import { busyScript } from '../load.ts';
import { descendantsOf } from '../processes.ts';
import { violationsOf } from '../under-faults.ts';
import { until } from '../until.ts';
import { checkOverlap, checkReader, checkResults, type ThreadFacts } from './checker.ts';

test('without fences and without the leash, a worker that was stopped breaks promises, and the checker reports it', async () => {
  const env = { NODE_OPTIONS: `--import=${new URL('unfence.mjs', import.meta.url).href}` };
  const wrong = await violationsOf({ workers: 2, env }, async (story) => {
    // Long enough that the stopped worker's agents still act when a busy machine has started their successors.
    await story.load({ threads: 4, messages: 1, scriptOf: (n) => busyScript(n, 4 * ttlMs) });
    await until('turns are under way', () => story.effects.read().length > 8);
    // A worker without turns would break nothing.
    const processes = (worker: (typeof story.workers)[number]) =>
      descendantsOf(worker.process.pid ?? 0).length;
    const [victim] = story.workers.toSorted((one, other) => processes(other) - processes(one));
    const leashes = descendantsOf(victim?.process.pid ?? 0).filter(({ command }) =>
      command.includes('leash.ts'),
    );
    for (const { pid } of leashes) process.kill(pid, 'SIGKILL');
    await stopWorker(story, 2 * ttlMs, victim);
  });
  console.log(wrong.join('\n'));
  expect(wrong.filter((one) => /^D[34] /.test(one))).not.toEqual([]);
});

describe('the checker reports', () => {
  const threadId = 'thr_1';
  const at = (ms: number) => new Date(1_000_000 + ms).toISOString();
  const run = (seq: number): Run =>
    ({ runId: `run_${seq}`, threadId, seq, status: 'success', result: String(seq), attempt: 1 }) as Run;
  const event = (type: ThreadEvent['type'], ms: number, data: object): ThreadEvent => ({
    id: String(ms),
    type,
    data: { type, threadId, at: at(ms), ...data },
  });
  const final = (seq: number, ms: number) =>
    event('run.completed', ms, { runId: `run_${seq}`, status: 'success', result: String(seq) });
  const facts = (changes: Partial<ThreadFacts> = {}): ThreadFacts => ({
    threadId,
    runs: [run(1), run(2)],
    events: [final(1, 10), final(2, 20)],
    sent: [1, 2].map((n) => ({ threadId, runId: `run_${n}`, n, effects: 0, mayFail: false })),
    effects: [],
    ...changes,
  });
  const effect = (ms: number, epoch: number, agent: string) => ({
    kind: 'effect' as const,
    at: 1_000_000 + ms,
    threadId,
    runId: 'run_2',
    attempt: 1,
    n: 2,
    agent,
    epoch,
  });
  const tolerance = { slackMs: 5 };

  test.each([
    ['a message that is gone', { runs: [run(1)] }, /D1 .* is gone/],
    ['two results', { events: [final(1, 10), final(2, 20), final(2, 30)] }, /D1 .* 2 final events/],
    ['results out of order', { events: [final(2, 10), final(1, 20)] }, /D2 .* order 2 1/],
    [
      'a message that is not done',
      { runs: [run(1), { ...run(2), status: 'running' }] as Run[] },
      /D5 .* running/,
    ],
    ['a wrong answer', { runs: [run(1), { ...run(2), result: 'x' }] }, /D2 .* the answer "x"/],
  ])('%s', (_, changes, problem) => {
    expect(checkResults(facts(changes)).join()).toMatch(problem);
  });

  test.for<[what: string, effects: ReturnType<typeof effect>[], more: ThreadEvent[], problem: RegExp]>([
    [
      'an effect of an older epoch',
      [effect(1, 2, 'b'), effect(2, 1, 'a')],
      [],
      /D4 .* epoch 1 after one at 2/,
    ],
    ['two agents in turns', [effect(1, 1, 'a'), effect(2, 1, 'b'), effect(3, 1, 'a')], [], /D4 .* agent a/],
    [
      'an effect after the thread moved on',
      [effect(19, 1, 'a')],
      [event('session.moved', 2, { epoch: 2 })],
      /D4 .* 17 ms after epoch 2/,
    ],
    ['an effect after the result', [effect(90, 1, 'a')], [], /D4 .* 70 ms after its result/],
    [
      'an agent that acts after its successor',
      [],
      ['a', 'b', 'a'].map((agent, i) => event('agent.tool_use', i, { toolUseId: `toolu_${agent}_${i}` })),
      /D3 .* agent a/,
    ],
  ])('%s', ([, effects, more, problem]) => {
    const events = [...more, ...facts().events];
    expect(checkOverlap(facts({ effects, events }), tolerance).join()).toMatch(problem);
  });

  test('events that a reader missed or saw twice', () => {
    const { events } = facts();
    expect(checkReader(events, ['10', '20'], threadId)).toEqual([]);
    expect(checkReader(events, ['20', '20'], threadId).join()).toMatch(/D7 .* missed 1 and saw 1 again/);
  });

  test('nothing for a correct run', () => {
    const fine = facts({ effects: [effect(15, 1, 'a'), effect(18, 2, 'b')] });
    expect([...checkResults(fine), ...checkOverlap(fine, tolerance)]).toEqual([]);
  });
});
