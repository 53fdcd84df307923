import { expect, test } from 'vitest';
import { openFleet, shareFleet } from '../open-fleet.ts';

const sharedFleet = shareFleet();

test('a real session answers a message and calls a tool natively; the next message finds it warm', async () => {
  const fleet = await sharedFleet();
  const threadId = await fleet.thread();
  const first = await fleet.ask(
    threadId,
    'say: the time\ncall: time__current_time {"timezone":"Europe/Berlin"}\nremember: plum',
  );
  expect(first).toMatchObject({
    status: 'success',
    attempt: 1,
    path: 'cold',
    usage: { outputTokens: expect.any(Number) },
  });
  const second = await fleet.ask(threadId, 'recall:');
  expect(second).toMatchObject({ status: 'success', path: 'warm', result: expect.stringContaining('plum') });

  const { events } = await fleet
    .get<{ events: { type: string; data: { name?: string; isError?: boolean } }[] }>(
      `/v1/threads/${threadId}/events?after=0`,
    )
    .catch(async () => ({
      events: await fleet.watch(`/v1/threads/${threadId}/events`, (e) => e.type === 'stream.replayed'),
    }));
  const tool = events.filter((event) => event.type.startsWith('agent.tool'));
  expect(tool.map(({ type, data }) => data.name ?? data.isError ?? type)).toEqual([
    'time__current_time',
    false,
  ]);
});

test('invalid input is refused with a message that names the field', async () => {
  const fleet = await sharedFleet();
  const run = await fleet.ask(await fleet.thread(), 'call: time__current_time {"timezone": 5}');
  expect(run.result).toContain('/timezone');
});

test('of two threads at the same time, each tool call gets its own', async () => {
  const fleet = await openFleet({
    env: { HARNESS_PLUGINS: new URL('../whoami-plugin.ts', import.meta.url).pathname },
  });
  const threads = await Promise.all([fleet.thread(), fleet.thread({ threadId: 'user-42' })]);
  const script = Array.from({ length: 4 }, () => 'call: whoami__whoami {}').join('\n');
  const runs = await Promise.all(threads.map((threadId) => fleet.ask(threadId, script)));
  for (const [n, threadId] of threads.entries()) {
    const events = await fleet.watch(
      `/v1/threads/${threadId}/events`,
      (event) => event.type === 'stream.replayed',
    );
    const called = events
      .filter((event) => event.type === 'agent.tool_result')
      .map((event) => JSON.parse(String(event.data.text)));
    expect(called).toHaveLength(4);
    for (const one of called) expect(one).toMatchObject({ threadId, runId: runs[n]?.runId, attempt: 1 });
  }
});

test('delegate, check in, reject once, accept, notify the parent: one stream shows all of it', async () => {
  const fleet = await sharedFleet();
  const parent = await fleet.thread({ threadId: 'chat:of.user_42' });
  const work = 'checkin: half way\\ncall: time__current_time {}\\nsay: the report\\nreject: 1';
  let notified = '';
  const watching = fleet.watch(`/v1/threads/${parent}/events?follow=true&children=true`, (event) => {
    if (event.type === 'run.queued' && event.data.kind === 'notification')
      notified = String(event.data.runId);
    return event.type === 'run.completed' && event.data.runId === notified;
  });
  const run = await fleet.ask(parent, `delegate: ${work}\nsay: I have delegated it`);
  expect(run.result).toBe('I have delegated it');
  const events = await watching;
  const story = events
    .filter((event) => /^task\.|^thread\./.test(event.type))
    .map((event) => [event.type, event.data.verdict]);
  expect(story).toEqual([
    ['thread.created', undefined],
    ['thread.created', undefined],
    ['task.created', undefined],
    ['task.checkin', undefined],
    ['task.review_started', undefined],
    ['task.review_ended', 'needs_revision'],
    ['task.review_started', undefined],
    ['task.review_ended', 'satisfied'],
    ['task.completed', 'satisfied'],
  ]);
  const checkin = events.find((event) => event.type === 'task.checkin');
  expect(checkin?.data).toMatchObject({ threadId: parent, message: 'half way' });
  const taskId = String(checkin?.data.taskId);
  expect(await fleet.task(taskId)).toMatchObject({
    status: 'completed',
    verdict: 'satisfied',
    iteration: 2,
    parentThreadId: parent,
  });
  const { runs } = await fleet.get<{ runs: { kind: string; result: string }[] }>(
    `/v1/threads/${parent}/runs`,
  );
  expect(runs[0]).toMatchObject({
    kind: 'notification',
    result: expect.stringContaining(`${taskId} has completed`),
  });
  expect(events.map((event) => event.id).filter(Boolean)).toEqual([
    ...new Set(events.map((event) => event.id).filter(Boolean)),
  ]);
});

test('the verdict of a reviewer is read from structured output and from text', async () => {
  const fleet = await sharedFleet();
  const end = async (form: string) => {
    const prompt = `say: work\nreject: 1\n${form}`;
    const { taskId, threadId } = await fleet.post<{ taskId: string; threadId: string }>('/v1/tasks', {
      prompt,
    });
    await fleet.watch(`/v1/threads/${threadId}/events?follow=true`, ({ type }) => type === 'task.completed');
    return fleet.task(taskId);
  };
  const forms = ['form: structured', 'form: fenced'];
  for (const task of await Promise.all(forms.map(end)))
    expect(task).toMatchObject({
      verdict: 'satisfied',
      iteration: 2,
      feedback: 'The script rejects iteration 1 of 1: do it once more.',
    });
});

test('the parent gets the last verdict and every failure; an unreadable verdict does not accept', async () => {
  // One slot: a review inside a turn must not wait for a second one.
  const fleet = await openFleet({ env: { HARNESS_MAX_SESSIONS: '1' } });
  const parent = await fleet.thread();
  const end = async (prompt: string, maxIterations: number) => {
    const { taskId } = await fleet.post<{ taskId: string }>('/v1/tasks', {
      prompt,
      parentThreadId: parent,
      maxIterations,
    });
    const done = (event: { type: string; data: Record<string, unknown> }) =>
      /^task\.(completed|failed)$/.test(event.type) && event.data.taskId === taskId;
    await fleet.watch(`/v1/threads/${parent}/events?follow=true`, done);
    return fleet.task(taskId);
  };
  const rejected = await end('say: poor work\nreject: 9', 2);
  expect(rejected).toMatchObject({ status: 'completed', verdict: 'max_iterations_reached', iteration: 2 });
  const unreadable = await end('say: work\nverdict: looks fine to me', 1);
  expect(unreadable).toMatchObject({
    verdict: 'max_iterations_reached',
    feedback: expect.stringContaining('no readable verdict'),
  });
  const failed = await end('fail: 400', 5);
  expect(failed).toMatchObject({ status: 'failed', verdict: 'failed', error: { code: 'model_error' } });

  const isLast = (event: { type: string; data: { status?: unknown; runId?: string } }) =>
    event.type === 'stream.replayed';
  await expect
    .poll(
      async () =>
        (await fleet.get<{ runs: { status: string }[] }>(`/v1/threads/${parent}/runs`)).runs.map(
          (r) => r.status,
        ),
      { timeout: 20_000 },
    )
    .toEqual(['success', 'success', 'success']);
  const watched = await fleet.watch(`/v1/threads/${parent}/events`, isLast);
  const answers = watched
    .filter((event) => event.type === 'run.completed')
    .map((event) => String(event.data.result));
  expect(answers[0]).toContain('max_iterations_reached');
  expect(answers[2]).toContain('has failed');
});

test('a stream that breaks during a response continues at another gateway, without gap or repeat', async () => {
  const fleet = await openFleet();
  const other = await fleet.addGateway();
  const threadId = await fleet.thread();
  const path = `/v1/threads/${threadId}/events?follow=true`;
  const beginning = fleet.watch(path, (event) => event.type === 'agent.tool_use');
  const run = fleet.ask(
    threadId,
    'call: time__current_time {}\nsleep: 500\nstream: 20\ncall: time__current_time {}',
  );
  const seen = await beginning;
  const rest = await fleet.watch(path, (event) => event.type === 'run.completed', {
    lastEventId: seen.at(-1)?.id ?? '',
    from: other.ready.url,
  });
  expect((await run).status).toBe('success');
  const whole = await fleet.watch(
    `/v1/threads/${threadId}/events`,
    (event) => event.type === 'stream.replayed',
  );
  const stored = (events: typeof whole) => events.filter((event) => event.id !== null);
  expect(stored([...seen, ...rest])).toEqual(stored(whole));
});
