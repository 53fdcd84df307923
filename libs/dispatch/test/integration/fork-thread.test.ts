import { randomUUID } from 'node:crypto';
import { runUuidOf } from '@harness/contracts';
import { expect, test } from 'vitest';
import { type Bench, beginTurn, openBench } from '../fixture.ts';

const tenant = 'default';
const sessionId = randomUUID();

/** A thread with two runs, whose prompts and responses are in its transcript. */
async function openForked(bench: Bench) {
  const { dispatch } = bench;
  const profile = { model: 'm', systemPrompt: 'p', allowedTools: ['a', 'b'], workspace: true };
  const { thread } = await dispatch.threads.create(tenant, profile);
  const { threadId } = thread;
  const me = await bench.alive('wrk_a');
  const send = () =>
    dispatch.runs.append({ tenant, threadId, request: { input: 'x' }, idempotencyKey: randomUUID() });
  const turn = async () => {
    const begun = await beginTurn(bench, threadId, me);
    await dispatch.sessions.note(begun.hold, { sdkSessionId: sessionId });
    const store = dispatch.transcripts.storeOf(threadId, () => begun.hold);
    const uuid = runUuidOf(begun.runId);
    await store.append({ sessionId }, [
      { type: 'queue-operation', sessionId },
      { type: 'user', uuid, sessionId },
      { type: 'assistant', uuid: `answer-${begun.seq}`, sessionId },
    ]);
    return begun;
  };
  const runs = [];
  for (const digit of ['1', '2']) {
    const { run } = await send();
    const begun = await turn();
    await dispatch.lease.commit(begun, {
      status: 'success',
      files: { version: digit.repeat(64), changed: [], more: 0 },
    });
    runs.push(run.runId);
  }
  return { threadId, runs, send, turn };
}

async function entriesOf({ dispatch, redis }: Bench, threadId: string) {
  const session = (await redis.hget(dispatch.keys.of('th', threadId), 'sdkSessionId')) ?? '';
  const hold = () => {
    throw new Error('nothing is appended');
  };
  const entries = await dispatch.transcripts.storeOf(threadId, hold).load({ sessionId: session });
  return { session, uuids: entries?.map(({ uuid }) => uuid), sessions: entries?.map((one) => one.sessionId) };
}

test('a fork has the entries up to the end of a run, under a session of its own', async () => {
  const bench = await openBench();
  const { threadId, runs } = await openForked(bench);
  const [first = '', second = ''] = runs;
  const fork = await bench.dispatch.threads.fork(tenant, threadId, { wish: { atRunId: first } });
  expect(fork).toMatchObject({
    model: 'm',
    workspace: true,
    files: '1'.repeat(64),
    forkedFrom: { threadId, runId: first },
  });
  const { session, uuids, sessions } = await entriesOf(bench, fork.threadId);
  expect(session).not.toBe(sessionId);
  expect(uuids).toEqual([undefined, runUuidOf(first), 'answer-1']);
  expect(new Set(sessions)).toEqual(new Set([session]));
  const { transcripts } = bench.dispatch;
  expect(await transcripts.hasMessage(fork.threadId, session, runUuidOf(first))).toBe(true);
  expect(await transcripts.hasMessage(fork.threadId, session, runUuidOf(second))).toBe(false);
  const kept = await bench.redis.keys(`*sess:${fork.threadId}*`);
  expect(await Promise.all(kept.map((key) => bench.redis.pttl(key)))).toEqual(kept.map(() => -1));
  await bench.dispatch.threads.delete(tenant, fork.threadId);
  expect(await bench.redis.keys(`*sess:${fork.threadId}*`)).toEqual([]);
});

test('a fork without a run has all that has ended, also during a turn', async () => {
  const bench = await openBench();
  const { threadId, runs, send, turn } = await openForked(bench);
  await send();
  const { runId } = await turn();
  const wish = { threadId: 'named' };
  const fork = await bench.dispatch.threads.fork(tenant, threadId, { wish });
  expect(fork).toMatchObject({ threadId: 'named', files: '2'.repeat(64) });
  const own = await bench.dispatch.threads.locate(tenant, 'named');
  const { uuids } = await entriesOf(bench, own.ownId);
  expect(uuids?.filter((uuid) => uuid && !uuid.startsWith('answer'))).toEqual(runs.map(runUuidOf));
  const open = bench.dispatch.threads.fork(tenant, threadId, { wish: { atRunId: runId } });
  await expect(open).rejects.toMatchObject({ code: 'wrong_state' });
  const twice = bench.dispatch.threads.fork(tenant, threadId, { wish });
  await expect(twice).rejects.toMatchObject({ code: 'thread_exists' });
});

test('a fork has no files of a run that was handed back, as it has none of its conversation', async () => {
  const bench = await openBench();
  const { threadId, send, turn } = await openForked(bench);
  await send();
  const { lease, threads } = bench.dispatch;
  for (const digit of ['3', '4'])
    await lease.handBack(await turn(), { files: { version: digit.repeat(64), changed: ['half'], more: 0 } });
  const fork = await threads.fork(tenant, threadId, { wish: {} });
  expect(fork).toMatchObject({ files: '2'.repeat(64) });
  await lease.commit(await turn(), { status: 'success' });
  expect(await threads.fork(tenant, threadId, { wish: {} })).toMatchObject({ files: '4'.repeat(64) });
});

test('a fork knows that files of its last run were lost', async () => {
  const bench = await openBench();
  const { threadId, runs, send, turn } = await openForked(bench);
  await send();
  await bench.dispatch.lease.commit(await turn(), { status: 'error', filesLost: true });
  const lostOf = async (wish: object) => {
    const fork = await bench.dispatch.threads.fork(tenant, threadId, { wish });
    return bench.redis.hget(bench.dispatch.keys.of('th', fork.threadId), 'filesLost');
  };
  expect(await lostOf({})).toBe('1');
  expect(await lostOf({ atRunId: runs[1] })).toBeNull();
});

test('a fork has no more tools than its creator, and is refused to other tenants and for other runs', async () => {
  const bench = await openBench();
  const { threadId } = await openForked(bench);
  const other = await openForked(bench);
  const { threads } = bench.dispatch;
  const sender = { keyId: 'k', tools: ['b', 'c'] };
  const fork = await threads.fork(tenant, threadId, { wish: {}, sender });
  expect(await bench.redis.hget(bench.dispatch.keys.of('th', fork.threadId), 'allowedTools')).toBe('["b"]');
  await expect(threads.fork('other', threadId, { wish: {} })).rejects.toMatchObject({
    code: 'thread_not_found',
  });
  const wish = { atRunId: other.runs[0] };
  await expect(threads.fork(tenant, threadId, { wish })).rejects.toMatchObject({ code: 'run_not_found' });
});

test('a conversation that is not stored completely is not forked', async () => {
  const bench = await openBench();
  const { threadId } = await openForked(bench);
  for (const transcript of ['behind', 'full']) {
    await bench.redis.hset(bench.dispatch.keys.of('th', threadId), 'transcript', transcript);
    const fork = bench.dispatch.threads.fork(tenant, threadId, { wish: {} });
    await expect(fork).rejects.toMatchObject({ code: 'wrong_state' });
  }
});

test('a thread that never ran is forked with its settings', async () => {
  const bench = await openBench();
  const { thread } = await bench.dispatch.threads.create(tenant, { model: 'm' });
  const fork = await bench.dispatch.threads.fork(tenant, thread.threadId, { wish: {} });
  expect(fork).toMatchObject({ model: 'm', files: null, forkedFrom: { threadId: thread.threadId } });
});
