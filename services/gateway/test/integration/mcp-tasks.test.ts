import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import { bearer, connectTestRedis, keyFor, openFakeWorker } from '../fixture.ts';
import { beginSession, type Message, modernCaller, type Params } from '../mcp-wire.ts';
import { openReplicas } from '../open-replicas.ts';
import { openRun } from '../open-run.ts';

const knowing = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const more = builtInPlugins;
const delegate = 'delegation__delegate';

function taskClient(headers: Record<string, string> = {}, capabilities: object = knowing) {
  const client = modernCaller({ headers, capabilities });
  const about = async (url: string, method: string, params: Params & { taskId: string }): Promise<Message> =>
    (await client.request(url, `tasks/${method}`, { params })).message();
  return {
    about,
    call: async (url: string, name: string, args: object = {}) =>
      (await client.call(url, name, { args })).message(),
    /** Starts a task; gives its id. */
    async start(url: string, name: string, args: object = {}): Promise<string> {
      const { result } = await this.call(url, name, args);
      expect(result).toMatchObject({ resultType: 'task', ttlMs: expect.any(Number) });
      return result.taskId;
    },
    get: async (url: string, taskId: string) => (await about(url, 'get', { taskId })).result,
    ended: (url: string, taskId: string, status: string) =>
      expect.poll(async () => (await about(url, 'get', { taskId })).result.status).toBe(status),
  };
}

test('delegate returns a task to a client with the tasks extension, at every gateway, through all states', async () => {
  const [a, b] = await openReplicas(['A', 'B'], { more });
  const worker = await openFakeWorker(a.dispatch, connectTestRedis());
  const client = taskClient();
  const open = async (prompt: string) => {
    const taskId = await client.start(a.url, delegate, { prompt });
    expect(await client.get(b.url, taskId)).toMatchObject({
      resultType: 'complete',
      taskId,
      status: 'working',
      createdAt: expect.stringMatching(/^\d{4}-/),
      pollIntervalMs: expect.any(Number),
    });
    const { threadId } = await b.dispatch.tasks.get('default', taskId);
    const end = (set: Record<string, string>) =>
      worker.finish(threadId, { status: 'success', result: 'r', task: { taskId, iteration: 1, set } });
    return { taskId, threadId, end };
  };

  const done = await open('count');
  await done.end({ status: 'completed', verdict: 'satisfied', result: 'three' });
  expect(await client.get(b.url, done.taskId)).toMatchObject({
    status: 'completed',
    result: {
      content: [{ text: 'three' }],
      structuredContent: { taskId: done.taskId, threadId: done.threadId, verdict: 'satisfied' },
      isError: false,
    },
  });
  const failed = await open('fail');
  const error = JSON.stringify({ code: 'model_error', message: 'the model is away' });
  await failed.end({ status: 'failed', verdict: 'failed', error });
  expect(await client.get(b.url, failed.taskId)).toMatchObject({
    status: 'completed',
    result: { content: [{ text: 'the model is away' }], isError: true },
  });
  const given = await open('give up');
  expect((await client.about(b.url, 'cancel', { taskId: given.taskId })).result).toMatchObject({
    resultType: 'complete',
  });
  const cancelled = await client.get(a.url, given.taskId);
  expect(cancelled.status).toBe('cancelled');
  expect(cancelled.result).toBeUndefined();
  expect(await b.dispatch.tasks.get('default', given.taskId)).toMatchObject({ status: 'cancelled' });
});

test('delegate returns ids to a client without the tasks extension, in either era', async () => {
  const [a, b] = await openReplicas(['A', 'B'], { more });
  const modern = taskClient({}, {});
  const modernResult = (await modern.call(a.url, delegate, { prompt: 'one' })).result;
  const session = await beginSession(a.url);
  const old = (await (await session.call(b.url, delegate, { args: { prompt: 'two' } })).message()).result;
  for (const { structuredContent, content, _meta } of [modernResult, old]) {
    const { taskId } = structuredContent;
    expect(content[0].text).toContain(taskId);
    expect(_meta['harness/taskId']).toBe(taskId);
    expect(await b.dispatch.tasks.get('default', taskId)).toMatchObject({ status: 'working' });
    expect((await modern.about(b.url, 'get', { taskId })).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    });
  }
  expect(modernResult.resultType).toBe('complete');
});

test('a session of a thread never gets a task, whatever capabilities it declares', async () => {
  const [a] = await openReplicas(['A'], { more });
  const session = taskClient(bearer(await (await openRun(a)).tokenOf()));
  const { result } = await session.call(a.url, delegate, { prompt: 'count' });
  expect(result).toMatchObject({
    resultType: 'complete',
    structuredContent: { taskId: expect.stringMatching(/^task_/) },
  });
  const { taskId } = result.structuredContent;
  for (const method of ['get', 'update', 'cancel'])
    expect((await session.about(a.url, method, { taskId })).error?.data).toEqual({ code: 'task_not_found' });
  a.play.go();
  const job = (await session.call(a.url, 'play__job')).result;
  expect(job).toMatchObject({ resultType: 'complete', content: [{ text: 'done at A' }] });
});

test('a call that runs as a task can be read at another gateway, also after its own has stopped', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const client = taskClient();
  const started = a.play.next('started');
  const taskId = await client.start(a.url, 'play__job');
  await started;
  expect(await client.get(b.url, taskId)).toMatchObject({ status: 'working' });
  a.play.go(2);
  await client.ended(b.url, taskId, 'completed');
  const failing = await client.start(a.url, 'play__job', { fails: true });
  await client.ended(b.url, failing, 'completed');
  await a.app.close();
  await a.dispatch.replicas.close();
  expect((await client.get(b.url, taskId)).result).toMatchObject({ content: [{ text: 'done at A' }] });
  expect((await client.get(b.url, failing)).result).toMatchObject({
    content: [{ text: 'The job failed.' }],
    isError: true,
  });
});

test('a question of a task is answered at another gateway, where the task then continues', async () => {
  const [a, b, c] = await openReplicas(['A', 'B', 'C']);
  const client = taskClient();
  const taskId = await client.start(a.url, 'play__asking-job');
  await client.ended(b.url, taskId, 'input_required');
  expect((await client.get(c.url, taskId)).inputRequests).toMatchObject({
    who: { method: 'elicitation/create' },
  });
  const update = (inputResponses: object) => client.about(b.url, 'update', { taskId, inputResponses });
  expect((await update({ nobodyAsked: { action: 'accept' } })).result).toEqual(
    expect.objectContaining({ resultType: 'complete' }),
  );
  expect(await client.get(a.url, taskId)).toMatchObject({ status: 'input_required' });
  await update({ who: { action: 'decline' } });
  await client.ended(c.url, taskId, 'completed');
  expect((await client.get(a.url, taskId)).result.content[0].text).toBe('{"action":"decline"} at B');
  await update({ who: { action: 'accept' } }); // too late, without effect
  expect(await client.get(c.url, taskId)).toMatchObject({ status: 'completed' });
});

test('a cancellation at one gateway aborts the call at another, also after it was resumed there', async () => {
  const [a, b, c] = await openReplicas(['A', 'B', 'C']);
  const client = taskClient();
  const started = a.play.next('started');
  const taskId = await client.start(a.url, 'play__long', { label: 'first' });
  await started;
  const aborted = a.play.next('aborted');
  await client.about(b.url, 'cancel', { taskId });
  expect(await aborted).toMatchObject({ place: 'A', label: 'first', reason: 'The task was cancelled.' });
  expect(await client.get(c.url, taskId)).toMatchObject({ status: 'cancelled' });

  const asking = await client.start(a.url, 'play__asking-job', { hangs: true });
  await client.ended(a.url, asking, 'input_required');
  const resumed = b.play.next('started');
  await client.about(b.url, 'update', { taskId: asking, inputResponses: { who: { action: 'accept' } } });
  await resumed;
  const abortedAtB = b.play.next('aborted');
  await client.about(c.url, 'cancel', { taskId: asking });
  expect(await abortedAtB).toMatchObject({ place: 'B' });
  expect(await client.get(a.url, asking)).toMatchObject({ status: 'cancelled' });
});

test('a task of another tenant is unknown at every endpoint', async () => {
  const keys = [keyFor('mine'), keyFor('colleague'), keyFor('foreign', { tenant: 'else' })];
  const [a, b] = await openReplicas(['A', 'B'], { keys, more });
  const [mine, colleague, foreign] = ['mine', 'colleague', 'foreign'].map((key) => taskClient(bearer(key)));
  const started = a.play.next('started');
  const taskIds = [
    await mine?.start(a.url, 'play__long'),
    await mine?.start(a.url, delegate, { prompt: 'count' }),
  ].map(String);
  const { signal } = (await started) as { signal: AbortSignal };
  for (const taskId of taskIds) {
    for (const method of ['get', 'update', 'cancel'])
      for (const { url } of [a, b])
        expect((await foreign?.about(url, method, { taskId }))?.error?.data).toEqual({
          code: 'task_not_found',
        });
    expect(await colleague?.get(b.url, taskId)).toMatchObject({ status: 'working' });
  }
  expect(signal.aborted).toBe(false);
});

test('a delegated task needs the scope `tasks` over MCP, too', async () => {
  const keys = [keyFor('all'), keyFor('calls', { scopes: ['tools'] })];
  const [a] = await openReplicas(['A'], { keys, more });
  const taskId = await taskClient(bearer('all')).start(a.url, delegate, { prompt: 'count' });
  for (const method of ['get', 'update', 'cancel'])
    expect((await taskClient(bearer('calls')).about(a.url, method, { taskId })).error?.data).toMatchObject({
      code: 'forbidden',
    });
});

test('the last response resumes the call, also when it is repeated because the reply was lost', async () => {
  const [a] = await openReplicas(['A']);
  const { callTasks } = a.dispatch;
  const { taskId } = await callTasks.create('default', {});
  await callTasks.move('default', taskId, { status: 'input_required', requests: { who: {} } });
  const answer = (answerId: string) =>
    callTasks.answer('default', taskId, { answerId, inputs: { who: { action: 'accept' } } });
  expect([await answer('one'), await answer('one'), await answer('another')]).toEqual([
    'resumed',
    'resumed',
    'noted',
  ]);
});

test('a call whose gateway died is failed, and stays so if that gateway reports later', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const client = taskClient();
  const started = a.play.next('started');
  const taskId = await client.start(a.url, 'play__job');
  await started;
  await a.dispatch.replicas.close(); // silent from now on
  const lost = { status: 'failed', error: { message: expect.stringContaining('effect is unknown') } };
  expect(await client.get(b.url, taskId)).toMatchObject(lost);
  a.play.go();
  await a.app.close();
  expect(await client.get(b.url, taskId)).toMatchObject(lost);
});

test('a gateway that is stopped aborts its calls, and they are failed, not cancelled', async () => {
  const [a, b] = await openReplicas(['A', 'B']);
  const client = taskClient();
  const started = a.play.next('started');
  const taskId = await client.start(a.url, 'play__long');
  await started;
  const aborted = a.play.next('aborted');
  await a.app.close();
  await aborted;
  await a.dispatch.replicas.close();
  expect(await client.get(b.url, taskId)).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('effect is unknown') },
  });
});

test('a tool that must be a task is refused to a client without the extension', async () => {
  const [a] = await openReplicas(['A']);
  const { error } = await taskClient({}, { elicitation: {} }).call(a.url, 'play__asking-job');
  expect(error.code).toBe(-32021);
});
