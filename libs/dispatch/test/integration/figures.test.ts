/** Totals of the fleet, and the check of what is promised. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { durationFields } from '../../src/index.ts';
import { beginTurn, openBench } from '../fixture.ts';

const use = (model: string) => ({
  model,
  agent: '',
  tenant: 'acme',
  requests: 1,
  inputTokens: 10,
  outputTokens: 2,
  costUsd: 0.5,
});

test('a batch counts once, however often it is sent; totals add up over processes', async () => {
  const { figures } = (await openBench()).dispatch;
  const batch = { totals: durationFields('total:warm', 0.2), uses: [use('small')] };
  for (const [process, id] of [
    ['wrk_1', 'a'],
    ['wrk_1', 'a'],
    ['wrk_1', 'b'],
    ['wrk_2', 'c'],
  ] as const)
    await figures.add({ process, batch: id }, batch);
  const { phases, uses } = await figures.read();
  const total = phases.find(({ phase }) => phase === 'total')?.durations;
  expect(total?.count).toBe(3);
  expect(total?.sum).toBeCloseTo(0.6);
  expect(total?.buckets.find(({ le }) => le === 0.1)?.count).toBe(0);
  expect(total?.buckets.find(({ le }) => le === 0.25)?.count).toBe(3);
  expect(uses).toEqual([{ ...use('small'), requests: 3, inputTokens: 30, outputTokens: 6, costUsd: 1.5 }]);
});

test('use beyond the maximum of names is counted under the name "other"', async () => {
  const { figures } = (await openBench()).dispatch;
  const uses = Array.from({ length: 510 }, (_, n) => use(`model-${n}`));
  await figures.add({ process: 'wrk_1', batch: 'a' }, { totals: {}, uses });
  const { uses: kept } = await figures.read();
  expect(kept).toHaveLength(501);
  expect(kept.find(({ model }) => model === 'other')).toMatchObject({ agent: 'other', requests: 10 });
});

test('messages without a result in between, second results and results out of order are found', async () => {
  const bench = await openBench();
  const { dispatch, redis } = bench;
  const { threadId } = (await dispatch.threads.create('acme', {})).thread;
  const me = await bench.alive('wrk_1');
  const runIds: string[] = [];
  for (let n = 0; n < 3; n++) {
    const { run } = await dispatch.runs.append({
      tenant: 'acme',
      threadId,
      request: { input: 'x' },
      idempotencyKey: randomUUID(),
    });
    runIds.push(run.runId);
    await dispatch.lease.commit(await beginTurn(bench, threadId, me), { status: 'success', result: 'done' });
  }
  const fine = { threads: 1, runs: 3, gaps: 0, doubles: 0, reorderings: 0 };
  expect(await dispatch.checkOrder('acme')).toEqual(fine);
  expect(await dispatch.checkOrder('umbrella')).toEqual({ ...fine, threads: 0, runs: 0 });

  // What the scripts never write: a second result of the first message, and a message that is gone.
  const data = JSON.stringify({ runId: runIds[0] });
  await redis.xadd(dispatch.keys.of('ev', threadId), '*', 'type', 'run.completed', 'data', data);
  await redis.zrem(dispatch.keys.of('runs', threadId), runIds[1] ?? '');
  expect(await dispatch.checkOrder('acme')).toMatchObject({ runs: 2, gaps: 1, doubles: 1 });
});

test('a worker whose turn is continued by another is a fail-over, whose silence is known', async () => {
  const bench = await openBench();
  const { dispatch } = bench;
  const { threadId } = (await dispatch.threads.create('acme', {})).thread;
  await dispatch.runs.append({ tenant: 'acme', threadId, request: { input: 'x' }, idempotencyKey: 'k' });
  const first = await beginTurn(bench, threadId, await bench.alive('wrk_1'));
  expect(first.died).toBeUndefined();
  await bench.dies('wrk_1');
  const second = await beginTurn(bench, threadId, await bench.alive('wrk_2'));
  expect(second).toMatchObject({ attempt: 2, died: { nonce: first.nonce } });
  expect(second.died?.silentMs).toBeGreaterThanOrEqual(0);
  await dispatch.lease.handBack(second);
  // A turn that was handed back did not die.
  const third = await beginTurn(bench, threadId, await bench.alive('wrk_2'));
  expect(third.died).toBeUndefined();
});
