/** Threads with files: what an agent makes in its workspace is kept, with the real Agent SDK in its sandbox. */
import type { Run, ThreadEvent } from '@harness/contracts';
import { connectRedis, createLogger } from '@harness/runtime';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openFleet, shareFleet } from '../../open-fleet.ts';
import { resultsStored } from '../../stored-results.ts';
import { bash, hasSandbox, resultOf, use, work } from '../../workspace/work.ts';

const openShared = shareFleet({ HARNESS_WORKSPACES: 'auto' });

describe.runIf(hasSandbox)('workspaces', () => {
  test('an agent writes, reads, finds and runs in its workspace, and calls tools of the gateway', async () => {
    const fleet = await openShared();
    const allowedTools = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'time__*'];
    const threadId = await fleet.thread({ allowedTools });
    const { run, results } = await work(
      fleet,
      threadId,
      use('Write', { file_path: '/workspace/notes.txt', content: 'one\ntwo\n' }),
      use('Edit', { file_path: '/workspace/notes.txt', old_string: 'two', new_string: 'three' }),
      bash('pwd; id -u; cat notes.txt; wc -l < notes.txt'),
      use('Grep', { pattern: 'three', output_mode: 'content' }),
      use('Glob', { pattern: '*.txt' }),
      'call: time__current_time {}',
      'say: done',
    );
    expect(run).toMatchObject({
      status: 'success',
      result: 'done',
      files: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false, false, false]);
    expect(results.slice(2, 5).map(({ text }) => text)).toEqual([
      '/workspace\n1000\none\nthree\n2',
      'notes.txt:2:three',
      'notes.txt',
    ]);
  });

  test('only the named tools are offered, within their pattern; without a workspace none is', async () => {
    const fleet = await openShared();
    const git = await fleet.thread({ allowedTools: ['Bash(git:*)', 'Read'] });
    const record = await fleet.get<{ tools: string[] }>(`/v1/threads/${git}?tools=true`);
    expect(record.tools).toEqual(['Bash(git:*)', 'Read']);
    const { output } = await fleet.post<{ output: string }>(`/v1/threads/${git}/commands`, {
      command: '/status',
    });
    expect(output).toContain('Bash(git:*), Read');
    const { results } = await work(
      fleet,
      git,
      bash('git --version'),
      bash('touch x'),
      use('Write', { file_path: '/workspace/x', content: 'x' }),
      'say: done',
    );
    expect(results.map(({ isError }) => isError)).toEqual([false, true, true]);
    const none = await fleet.thread();
    const refused = await work(fleet, none, bash('id'), 'say: done');
    expect(refused.results).toMatchObject([{ isError: true }]);
    const said = await fleet.thread({ workspace: true });
    expect(await resultOf(fleet, said, 'id -un')).toBe('agent');
  });

  test('files follow the thread to a new session and to another worker; a turn without a change makes no version', async () => {
    const fleet = await openFleet({ workers: 2, env: { HARNESS_WORKSPACES: 'on' } });
    const threadId = await fleet.thread();
    const first = await work(
      fleet,
      threadId,
      bash('mkdir -p a/b && echo deep > a/b/c && ln -s a/b/c link && chmod 750 a/b/c'),
      'remember: plum',
    );
    const { workerId } = await fleet.get<{ workerId: string }>(`/v1/threads/${threadId}/session`);
    const worker = fleet.workers.find(({ ready }) => ready.workerId === workerId);
    worker?.process.kill('SIGKILL');
    const { run, results } = await work(
      fleet,
      threadId,
      bash('cat link; stat -c %a a/b/c; ls -A'),
      'recall:',
    );
    expect(results).toEqual([{ isError: false, text: 'deep\n750\na\nlink' }]);
    expect(run).toMatchObject({ path: 'resume', result: expect.stringContaining('plum') });
    expect(run.files).toEqual(first.run.files);
  });

  test('files of a message lie in the workspace when its turn starts, and the model sees images', async () => {
    const fleet = await openShared();
    const threadId = await fleet.thread({ workspace: true });
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const files = [
      { path: 'data/in.csv', contentBase64: Buffer.from('a,b\n1,2\n').toString('base64') },
      { path: 'dot.png', contentBase64: png },
    ];
    const script = [bash('cat data/in.csv; wc -c < dot.png; rm dot.png; echo out > out.txt'), 'say: done'];
    const run = await fleet.ask(threadId, script.join('\n'), { files });
    expect(run).toMatchObject({ status: 'success', result: 'done' });
    const events = await fleet.watch(
      `/v1/threads/${threadId}/events`,
      ({ type }) => type === 'stream.replayed',
    );
    const of = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data);
    expect(of('agent.tool_result')).toMatchObject([
      { text: `a,b\n1,2\n${Buffer.from(png, 'base64').length}` },
    ]);
    expect(of('files.changed').at(-1)).toMatchObject({
      changed: expect.arrayContaining(['data/in.csv', 'out.txt']),
    });
    const listed = await fleet.get<{ files: { path: string }[] }>(`/v1/threads/${threadId}/files`);
    expect(listed.files.map(({ path }) => path)).toEqual(expect.arrayContaining(['data/in.csv', 'out.txt']));
    // A change from outside is there in the next turn of the warm session.
    const put = await fetch(`${fleet.url}/v1/threads/${threadId}/files/data/in.csv`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream' },
      body: 'new',
    });
    expect(put.ok).toBe(true);
    const { run: next, results } = await work(fleet, threadId, bash('cat data/in.csv; ls'), 'say: done');
    expect([next.path, results[0]?.text]).toEqual(['warm', 'newdata\nout.txt']);
  });

  test.each([
    ['could not be stored', /limit/, 'true'],
    ['took more than the sandbox allows', /^sandbox_limit$/, 'sleep 20; true'],
  ])('that the files of a turn %s is told to the model by the next one, once', async (_, code, last) => {
    const fleet = await openFleet({ env: { HARNESS_WORKSPACES: 'on', HARNESS_THREAD_FILES: '20' } });
    const threadId = await fleet.thread();
    await work(fleet, threadId, bash('echo kept > kept.txt'), 'say: done');
    const tooMany = bash(`for i in $(seq 30); do echo $i > f$i; done; ${last}`);
    const { run } = await work(fleet, threadId, tooMany, 'say: done');
    expect(run).toMatchObject({ status: 'error', error: { code: expect.stringMatching(code) } });
    // What the model got is in the agent's own record of the conversation.
    for (const _ of [1, 2]) expect(await resultOf(fleet, threadId, 'ls')).toBe('kept.txt');
    const seen =
      'grep -rhoE "your last turn [c]hanged in the workspace could not" $CLAUDE_CONFIG_DIR | wc -l';
    expect(await resultOf(fleet, threadId, seen)).toBe('1');
  });

  test('a worker that drains in mid-turn stores the files; the model learns what a killed worker lost', async () => {
    const fleet = await openFleet({
      workers: 1,
      env: { HARNESS_WORKSPACES: 'on', HARNESS_DRAIN_MS: '200', HARNESS_WORKER_TTL_MS: '2000' },
    });
    const threadId = await fleet.thread();
    const events = `/v1/threads/${threadId}/events`;
    const wrote = (event: ThreadEvent) => event.type === 'agent.tool_result';
    const script = [
      'persist:',
      bash('echo made > made.txt'),
      'sleep: 3000',
      bash('ls; cat made.txt'),
      'say: done',
    ];
    const sent = await fleet.send(threadId, script.join('\n'));
    await fleet.watch(`${events}?follow=true`, wrote);
    await Promise.all([fleet.workers[0]?.end(20_000), fleet.addWorker()]);
    const seen = await fleet.watch(`${events}?follow=true`, ({ type }) => type === 'run.completed');
    expect(seen.filter(wrote).at(-1)?.data).toMatchObject({ isError: false, text: 'made.txt\nmade' });
    expect(seen.filter(({ type }) => type === 'files.changed').map(({ data }) => data.changed)).toEqual([
      ['made.txt'],
    ]);

    const next = ['persist:', bash('echo more > more.txt'), 'sleep: 3000', bash('ls'), 'say: done'];
    const again = await fleet.send(threadId, next.join('\n'));
    const redis = connectRedis(fleet.redisUrl, { logger: createLogger('test', 'silent'), patience: 'wait' });
    onTestFinished(() => redis.disconnect());
    await resultsStored(redis, threadId, 3);
    fleet.workers[1]?.process.kill('SIGKILL');
    await fleet.addWorker();
    const after = await fleet.watch(
      `${events}?follow=true`,
      ({ type, data }) => type === 'run.completed' && data.runId === again.runId,
    );
    expect(after.filter(wrote).at(-1)?.data).toMatchObject({ text: 'made.txt' });
    const run = await fleet.get<Run>(`/v1/threads/${threadId}/runs/${again.runId}`);
    expect(run.files).toBe((await fleet.get<Run>(`/v1/threads/${threadId}/runs/${sent.runId}`)).files);
  });
});

test('a workspace is refused with the reason where no worker has a sandbox, and where the model needs signed requests', async () => {
  const fleet = await openFleet({ workers: 0, env: { HARNESS_WORKSPACES: 'auto' } });
  await fleet.addWorker({ CLAUDE_CODE_USE_BEDROCK: '1' });
  const { workers } = await fleet.get<{ workers: { sandbox: object }[] }>('/v1/workers');
  const reason = 'CLAUDE_CODE_USE_BEDROCK is set';
  expect(workers).toMatchObject([{ sandbox: { level: 'none', reason: expect.stringContaining(reason) } }]);
  await expect(fleet.thread({ workspace: true })).rejects.toThrow(
    /: 422 .*workspace_refused.*CLAUDE_CODE_USE_BEDROCK is set/,
  );
  // A thread that needs one all the same, by its tools, fails at once with the reason.
  const run = await fleet.ask(await fleet.thread({ allowedTools: ['Read'] }), 'say: x');
  expect(run).toMatchObject({
    status: 'error',
    error: { code: 'workspace_refused', message: expect.stringContaining(reason) },
  });
  const metrics = await fetch(`${fleet.workers[0]?.ready.url}/metrics`);
  expect(await metrics.text()).toContain('harness_worker_sandbox{level="none"} 1');
});
