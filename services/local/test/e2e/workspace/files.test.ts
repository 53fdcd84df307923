/** Files of threads that callers and sub-agents change, as agents see them. */
import type { Run, Task, Thread } from '@harness/contracts';
import { describe, expect, test } from 'vitest';
import { openFleet, type TestFleet } from '../../open-fleet.ts';
import { bash, hasSandbox, resultOf, work } from '../../workspace/work.ts';

const openThread = async () => {
  const fleet = await openFleet({ env: { HARNESS_WORKSPACES: 'auto' } });
  const threadId = await fleet.thread({ workspace: true });
  return { fleet, threadId };
};

const send = (fleet: TestFleet, path: string, { method = 'PUT', body = '' } = {}) =>
  fetch(fleet.url + path, {
    method,
    ...(method === 'PUT' && { body, headers: { 'content-type': 'application/octet-stream' } }),
  });

describe.runIf(hasSandbox)('files of a thread', () => {
  test('a warm session sees what callers changed before its next turn; each run has its own version', async () => {
    const { fleet, threadId } = await openThread();
    const files = `/v1/threads/${threadId}/files`;
    const { run: first } = await work(
      fleet,
      threadId,
      bash('echo one > a.txt; mkdir d; echo x > d/x'),
      'say: x',
    );
    await send(fleet, `${files}/a.txt`, { body: 'two\n' });
    await send(fleet, `${files}/e/new.txt`, { body: 'new\n' });
    await send(fleet, `${files}/d`, { method: 'DELETE' });
    const { run, results } = await work(
      fleet,
      threadId,
      bash('cat a.txt e/new.txt; ls; echo three >> a.txt'),
      'say: x',
    );
    expect([run.path, results[0]?.text]).toEqual(['warm', 'two\nnew\na.txt\ne']);
    const textOf = async (query: string) =>
      (await send(fleet, `${files}/a.txt${query}`, { method: 'GET' })).text();
    expect(await textOf(`?run=${first.runId}`)).toBe('one\n');
    expect(await textOf('')).toBe('two\nthree\n');
    const diff = await send(fleet, `/v1/threads/${threadId}/diff?from=${first.runId}`, { method: 'GET' });
    expect(await diff.text()).toContain('-one\n+two\n+three\n');
    const events = await fleet.watch(
      `/v1/threads/${threadId}/events`,
      ({ type }) => type === 'stream.replayed',
    );
    const changed = events.flatMap(({ type, data }) => (type === 'files.changed' ? [data.changed] : []));
    expect(changed).toEqual([['a.txt', 'd', 'd/x'], ['a.txt'], ['e', 'e/new.txt'], ['d', 'd/x'], ['a.txt']]);
  });

  test('a sub-agent works on a copy of its parent’s files, and the report of its end names what it changed', async () => {
    const { fleet, threadId } = await openThread();
    await work(fleet, threadId, bash('echo hello > a.txt'), 'say: x');
    const child = [bash('cat a.txt > b.txt; echo more >> a.txt'), 'say: done'].join('\\n');
    await fleet.ask(threadId, `delegate: ${child}`);
    const events = await fleet.watch(
      `/v1/threads/${threadId}/events?follow=true`,
      ({ type }) => type === 'task.completed',
    );
    const taskId = String(events.at(-1)?.data.taskId);
    const task: Task = await fleet.task(taskId);
    expect(task.files).toMatchObject({ changed: ['a.txt', 'b.txt'], more: 0 });
    const ofChild = await send(fleet, `/v1/threads/${task.threadId}/files/b.txt`, { method: 'GET' });
    expect(await ofChild.text()).toBe('hello\n');
    expect(await resultOf(fleet, threadId, 'cat a.txt; ls')).toBe('hello\na.txt');
    const { runs } = await fleet.get<{ runs: Run[] }>(`/v1/threads/${threadId}/runs?input=true`);
    const report = runs.find(({ kind }) => kind === 'notification');
    expect(report?.input).toContain(
      `Files that it changed in its own workspace, version ${task.files?.version}:\n> a.txt\n> b.txt`,
    );
    const parent = await fleet.get<Thread>(`/v1/threads/${threadId}`);
    expect(parent.files).not.toBe(task.files?.version);

    // The parent reads them; another thread, and a caller without the task's id, does not.
    const get = (more: object) => `call: delegation__get_files ${JSON.stringify({ taskId, ...more })}`;
    const lines = [
      get({}),
      get({ path: '/workspace/a.txt' }),
      get({ path: 'a.txt', offset: 6 }),
      get({ path: 'c' }),
    ];
    const { results } = await work(fleet, threadId, ...lines, 'say: x');
    expect(results).toEqual([
      { isError: false, text: 'a.txt (11 bytes)\nb.txt (6 bytes)' },
      { isError: false, text: 'hello\nmore\n' },
      { isError: false, text: 'more\n' },
      { isError: true, text: expect.stringContaining('c') },
    ]);
    const other = await fleet.thread();
    const [refused] = (await work(fleet, other, get({ path: 'a.txt' }), 'say: x')).results;
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('There is no task') });
  });
});
