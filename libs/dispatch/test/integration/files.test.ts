import { randomUUID } from 'node:crypto';
import { createLogger } from '@harness/runtime';
import { expect, test } from 'vitest';
import { createDispatch, notificationOf } from '../../src/index.ts';
import { type Bench, beginTurn, hold, openBench } from '../fixture.ts';

const tenant = 'default';
const version = (digit: string) => digit.repeat(64);
const change = (digit: string, ...changed: string[]) => ({ version: version(digit), changed, more: 0 });

async function openThread(bench: Bench, request = {}) {
  const { thread } = await bench.dispatch.threads.create(tenant, request);
  const { threadId } = thread;
  const send = (input: string, filesIn?: string) =>
    bench.dispatch.runs.append({
      tenant,
      threadId,
      request: { input },
      idempotencyKey: randomUUID(),
      filesIn,
    });
  return { threadId, send };
}

const changesOf = async ({ dispatch }: Bench, threadId: string) =>
  (await dispatch.events.read({ threadId }, undefined, 100))
    .filter(({ type }) => type === 'files.changed')
    .map(({ data: { at: _, threadId: __, type: ___, ...rest } }) => rest);

test('a commit stores the version with its run; a run that changes nothing repeats it', async () => {
  const bench = await openBench();
  const { dispatch } = bench;
  const { threadId, send } = await openThread(bench, { workspace: true });
  const first = await send('write', version('f'));
  const second = await send('look');
  const me = await bench.alive('wrk_a');
  const turn = await beginTurn(bench, threadId, me);
  expect(turn).toMatchObject({ workspace: true, files: undefined, filesIn: version('f') });
  const ending = { status: 'success' as const, result: 'ok', files: change('1', 'a.txt', 'b "x".txt') };
  for (const _ of [1, 2]) await dispatch.lease.commit(turn, ending);
  const next = await beginTurn(bench, threadId, me);
  expect(next).toMatchObject({ files: version('1'), filesIn: undefined });
  await dispatch.lease.commit(next, { status: 'success', result: 'ok' });
  expect(await dispatch.threads.get(tenant, threadId)).toMatchObject({
    workspace: true,
    files: version('1'),
  });
  for (const { run } of [first, second])
    expect(await dispatch.runs.get(tenant, threadId, run.runId)).toMatchObject({ files: version('1') });
  expect(await changesOf(bench, threadId)).toEqual([
    { runId: first.run.runId, version: version('1'), changed: ['a.txt', 'b "x".txt'], more: 0 },
  ]);
});

test('D4: a fenced worker changes no version, neither by a commit nor by handing back', async () => {
  const bench = await openBench();
  const { dispatch } = bench;
  const { threadId, send } = await openThread(bench);
  await send('work');
  const zombie = await beginTurn(bench, threadId, await bench.alive('wrk_a'));
  await bench.dies('wrk_a');
  await hold(bench, threadId, await bench.alive('wrk_b'));
  expect(await dispatch.lease.commit(zombie, { status: 'success', files: change('1', 'a') })).toBeUndefined();
  await dispatch.lease.handBack(zombie, { files: change('1', 'a') });
  expect(await dispatch.threads.get(tenant, threadId)).toMatchObject({ files: null });
  expect(await changesOf(bench, threadId)).toEqual([]);
});

test('a turn that is handed back begins again with the files that it left', async () => {
  const bench = await openBench();
  const { threadId, send } = await openThread(bench);
  await send('work');
  const me = await bench.alive('wrk_a');
  await bench.dispatch.lease.handBack(await beginTurn(bench, threadId, me), {
    files: change('2', 'half.txt'),
  });
  expect(await beginTurn(bench, threadId, me)).toMatchObject({ attempt: 1, files: version('2') });
  expect(await changesOf(bench, threadId)).toHaveLength(1);
});

test('a turn reports to the model that files of an earlier turn were lost, until one has succeeded', async () => {
  const bench = await openBench();
  const { commit, handBack } = bench.dispatch.lease;
  const { threadId, send } = await openThread(bench);
  for (let count = 0; count < 4; count++) await send('work');
  const me = await bench.alive('wrk_a');
  const begin = () => beginTurn(bench, threadId, me);
  const first = await begin();
  expect(first.filesLost).toBe(false);
  await commit(first, { status: 'error', filesLost: true });
  const second = await begin();
  expect(second.filesLost).toBe(true);
  await commit(second, { status: 'cancelled' }); // before the model had its prompt
  const third = await begin();
  expect(third.filesLost).toBe(true);
  await commit(third, { status: 'success', filesLost: false });
  const fourth = await begin();
  expect(fourth.filesLost).toBe(false);
  await handBack(fourth, { filesLost: true });
  expect((await begin()).filesLost).toBe(true);
});

test('files are set between turns only, and only from the version that the caller read', async () => {
  const bench = await openBench();
  const { files, lease } = bench.dispatch;
  const { threadId, send } = await openThread(bench);
  const thread = { tenant, threadId };
  await files.set(thread, undefined, change('1', 'a'));
  await files.set(thread, undefined, change('1', 'a')); // a repeat
  await expect(files.set(thread, undefined, change('2', 'b'))).rejects.toMatchObject({
    code: 'precondition_failed',
    details: { version: version('1') },
  });
  await expect(
    files.set({ tenant: 'other', threadId }, version('1'), change('2', 'b')),
  ).rejects.toMatchObject({
    code: 'thread_not_found',
  });
  const { run } = await send('work');
  const turn = await beginTurn(bench, threadId, await bench.alive('wrk_a'));
  const during = files.set(thread, version('1'), change('2', 'b'));
  await expect(during).rejects.toMatchObject({ code: 'run_in_progress', details: { runId: run.runId } });
  await bench.dies('wrk_a'); // its commit may still arrive
  await expect(files.set(thread, version('1'), change('2', 'b'))).rejects.toMatchObject({
    code: 'run_in_progress',
  });
  await lease.commit(turn, { status: 'success', result: 'ok' });
  await files.set(thread, version('1'), change('2', 'b'));
  expect(await changesOf(bench, threadId)).toEqual([
    { version: version('1'), changed: ['a'], more: 0 },
    { version: version('2'), changed: ['b'], more: 0 },
  ]);
});

test('live versions are those of threads, runs and messages of the tenant', async () => {
  const bench = await openBench();
  const { files, threads, lease } = bench.dispatch;
  const { threadId, send } = await openThread(bench);
  const gone = await openThread(bench);
  await files.set({ tenant, threadId: gone.threadId }, undefined, change('8', 'a'));
  await gone.send('handed back');
  const open = await beginTurn(bench, gone.threadId, await bench.alive('wrk_b'));
  await lease.handBack(open, { files: change('9', 'half') });
  await send('one', version('a'));
  const turn = await beginTurn(bench, threadId, await bench.alive('wrk_a'));
  await lease.commit(turn, { status: 'success', files: change('b', 'x') });
  await files.set({ tenant, threadId }, version('b'), change('c', 'x'));
  const live = async (of: string) => {
    const found = new Set<string>();
    for await (const one of files.live(of)) found.add(one);
    return [...found].sort();
  };
  expect(await live(tenant)).toEqual(['8', '9', 'a', 'b', 'c'].map(version));
  await threads.delete(tenant, gone.threadId);
  expect(await live(tenant)).toEqual(['a', 'b', 'c'].map(version));
  expect(await live('other')).toEqual([]);
  expect(await files.tenants()).toEqual([tenant]);
  expect(await files.installationId()).toBe(await files.installationId());
});

test('a sub-agent begins with its parent’s files, and its end names what it changed', async () => {
  const bench = await openBench();
  const { dispatch } = bench;
  const { threadId } = await openThread(bench);
  await dispatch.files.set({ tenant, threadId }, undefined, change('1', 'a'));
  const delegate = async (workspace?: boolean | 'empty') => {
    const wish = { tenant, prompt: 'do', parentThreadId: threadId, workspace };
    const { task } = await dispatch.tasks.create(wish);
    return { task, thread: await dispatch.threads.get(tenant, task.threadId) };
  };
  const { task, thread } = await delegate();
  expect(thread).toMatchObject({ files: version('1'), workspace: null });
  expect((await delegate('empty')).thread).toMatchObject({ files: null, workspace: true });
  expect((await delegate(false)).thread).toMatchObject({ files: null, workspace: false });

  const me = await bench.alive('wrk_a');
  const work = await beginTurn(bench, task.threadId, me);
  const end = { taskId: task.taskId, iteration: 1, set: { phase: 'review', result: 'r' } };
  await dispatch.lease.commit(work, { status: 'success', files: change('2', 'new\nline.txt'), task: end });
  const changes = { version: version('2'), changed: ['new\nline.txt'], more: 0 };
  const worked = await dispatch.tasks.get(tenant, task.taskId);
  expect(worked).toMatchObject({ files: changes });

  await dispatch.runs.append({
    tenant,
    threadId: task.threadId,
    request: { input: 'more' },
    idempotencyKey: 'k',
  });
  const review = await beginTurn(bench, task.threadId, me);
  const mail = notificationOf(worked, { status: 'completed', verdict: 'satisfied', text: 'r' }, 'm');
  const files = { version: version('3'), changed: ['new\nline.txt', 'b.txt'], more: 4 };
  const completed = { ...end, set: { status: 'completed' } };
  await dispatch.lease.commit(review, {
    status: 'success',
    files,
    task: completed,
    mail: mail ? [mail] : [],
  });
  expect((await beginTurn(bench, threadId, me)).input).toMatch(
    new RegExp(`its own workspace, version ${version('3')}:\n> new\\?line.txt\n> b.txt\nand 4 more$`),
  );
});

test('a thread without a workspace cannot get one by delegating', async () => {
  const bench = await openBench();
  const { threadId } = await openThread(bench, { workspace: false });
  const wish = { tenant, prompt: 'do', parentThreadId: threadId, workspace: true };
  const { task } = await bench.dispatch.tasks.create(wish);
  expect(await bench.dispatch.threads.get(tenant, task.threadId)).toMatchObject({ workspace: false });
});

test('where there are no workspaces, a request for one is refused with the reason', async () => {
  const { redis, subscriber } = await openBench();
  const logger = createLogger('test', 'silent');
  const workspacesOff = 'HARNESS_WORKSPACES is off.';
  const dispatch = createDispatch({ redis, subscriber, logger, tag: randomUUID(), workspacesOff });
  const { thread } = await dispatch.threads.create(tenant, { workspace: false });
  const refused = { code: 'workspace_refused', message: expect.stringContaining(workspacesOff) };
  await expect(dispatch.threads.create(tenant, { workspace: true })).rejects.toMatchObject(refused);
  await expect(dispatch.tasks.create({ tenant, prompt: 'x', workspace: 'empty' })).rejects.toMatchObject(
    refused,
  );
  const message = {
    tenant,
    threadId: thread.threadId,
    request: { input: 'x' },
    idempotencyKey: 'k',
    filesIn: version('1'),
  };
  await expect(dispatch.runs.append(message)).rejects.toMatchObject(refused);
  await dispatch.tasks.close();
  await dispatch.doorbell.close();
});
