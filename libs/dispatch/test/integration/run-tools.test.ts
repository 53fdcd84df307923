import { expect, test } from 'vitest';
import { type Bench, beginTurn, openBench } from '../fixture.ts';

const tenant = 'default';

/** A thread in a run that began with two tools. */
async function openRun(bench: Bench) {
  const { threads, runs } = bench.dispatch;
  const { thread } = await threads.create(tenant, { allowedTools: ['a__x', 'a__y'] });
  const { threadId } = thread;
  await runs.append({ tenant, threadId, request: { input: 'go' }, idempotencyKey: 'go' });
  return beginTurn(bench, threadId, await bench.alive('wrk_a'));
}

const toolsNow = async ({ dispatch }: Bench, { hold }: Awaited<ReturnType<typeof openRun>>) => {
  const authority = await dispatch.authorityOf(hold);
  return 'tools' in authority ? authority.tools : undefined;
};

test('a run in progress has no more tools than it began with, even if its thread gets more meanwhile', async () => {
  const bench = await openBench();
  const turn = await openRun(bench);
  const { threadId } = turn.hold;
  const { threads, tasks, narrowTools } = bench.dispatch;
  await threads.update({ tenant, threadId }, { allowedTools: null });
  const call = { runId: turn.runId, toolUseId: 'toolu_1', attempt: 1 };
  const { task } = await tasks.create({ tenant, prompt: 'x', parentThreadId: threadId, call });
  const child = await beginTurn(bench, task.threadId, await bench.alive('wrk_b'));
  expect(child.allowedTools).toEqual(['a__x', 'a__y']);
  await narrowTools({ runId: turn.runId, tools: ['a__x', 'b__z'] });
  expect(await toolsNow(bench, turn)).toEqual(['a__x']);
});

test('tools narrowed by a skill stay narrowed in the next attempt, within those that the thread has by then', async () => {
  const bench = await openBench();
  const turn = await openRun(bench);
  const { threadId } = turn.hold;
  await bench.dispatch.narrowTools({ runId: turn.runId, tools: ['a__*'] });
  await bench.dispatch.threads.update({ tenant, threadId }, { allowedTools: ['a__y', 'b__z'] });
  expect(await toolsNow(bench, turn)).toEqual(['a__x', 'a__y']);
  await bench.dies('wrk_a');
  const next = await beginTurn(bench, threadId, await bench.alive('wrk_b'));
  expect(next.attempt).toBe(2);
  expect(await toolsNow(bench, next)).toEqual(['a__y']);
});

test('a sub-agent uses the model of the delegating thread unless the task names another', async () => {
  const bench = await openBench();
  const { profiles, threads, tasks } = bench.dispatch;
  await profiles.publish('agents', {
    digest: 'a',
    place: 'here',
    profiles: new Map([
      ['clerk', { instructions: 'x', model: 'sonnet' }],
      ['scout', { instructions: 'x' }],
      ['judge', { instructions: 'x', model: 'opus' }],
    ]),
  });
  const { thread } = await threads.create(tenant, { agent: 'clerk' });
  const me = await bench.alive('wrk_a');
  const modelOf = async (wish: { agent?: string; model?: string }) => {
    const { task } = await tasks.create({ tenant, prompt: 'x', parentThreadId: thread.threadId, ...wish });
    return (await beginTurn(bench, task.threadId, me)).model;
  };
  expect(await modelOf({})).toBe('sonnet');
  expect(await modelOf({ agent: 'scout' })).toBe('sonnet');
  expect(await modelOf({ agent: 'judge' })).toBe('opus');
  expect(await modelOf({ agent: 'judge', model: 'haiku' })).toBe('haiku');
});
