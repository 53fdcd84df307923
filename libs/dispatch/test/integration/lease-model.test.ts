/**
 * The scripts against a model (lease-model.ts), on real Redis: in any order of its commands D1-D5 hold, and no
 * prompt is sent that the transcript already has.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openBench } from '../fixture.ts';
import { beginHistory, histories, type Model, type Real, workerIds } from '../lease-model.ts';

/** After any history, one new worker finishes everything; then the promises are checked. */
async function heal({ bench, dispatch, threadIds }: Real, model: Model) {
  for (const workerId of workerIds) await bench.dies(workerId);
  const me = await bench.alive('wrk_healer');
  for (const [n, threadId] of threadIds.entries()) {
    const claimed = await dispatch.lease.claim(threadId, me);
    if (claimed.outcome !== 'mine') throw new Error(claimed.outcome);
    for (;;) {
      const next = await dispatch.lease.begin(claimed.hold, randomUUID());
      if (!('turn' in next)) break;
      await dispatch.lease.commit(next.turn, { status: 'success', result: `done: ${next.turn.input}` });
    }
    const runs = (await dispatch.runs.list(threadId, { limit: 200, offset: 0 })).reverse();
    const { accepted } = model.threads[n] as Model['threads'][number];
    expect(runs.map((run) => run.result)).toEqual(accepted.map((input) => `done: ${input}`)); // D1
    const events = await dispatch.events.read({ threadId }, undefined, 5000);
    const ended = events.filter((event) => event.type === 'run.completed').map((event) => event.data.runId);
    expect(ended).toEqual(runs.map((run) => run.runId)); // D2, and once each
  }
}

test('any history of the scripts keeps D1-D5', { timeout: 120_000 }, async () => {
  const bench = await openBench();
  const property = fc.asyncProperty(histories(), async (commands) => {
    const run = await beginHistory(bench);
    await fc.asyncModelRun(() => run, commands);
    await heal(run.real, run.model);
  });
  await fc.assert(property, { numRuns: 200 });
});
