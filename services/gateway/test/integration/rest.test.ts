import { randomUUID } from 'node:crypto';
import { newRunId, newTaskId, newThreadId } from '@harness/contracts';
import { expect, test } from 'vitest';
import {
  bearer,
  connectTestRedis,
  type Gateway,
  keyFor,
  openFakeWorker,
  openGateway,
  probe,
} from '../fixture.ts';

async function newThread({ call }: Gateway): Promise<string> {
  const { status, body } = await call('POST', '/v1/threads', { body: { metadata: { topic: 'tests' } } });
  expect(status).toBe(201);
  return body.threadId;
}

test('a thread is created, read, listed and deleted', async () => {
  const gateway = await openGateway();
  const threadId = await newThread(gateway);
  const { body: thread } = await gateway.call('GET', `/v1/threads/${threadId}`);
  expect(thread).toMatchObject({
    threadId,
    state: 'idle',
    parentThreadId: null,
    metadata: { topic: 'tests' },
  });
  expect((await gateway.call('GET', '/v1/threads?metadata=true')).body).toEqual({
    threads: [thread],
    nextCursor: null,
  });
  expect((await gateway.call('POST', '/v1/threads', { body: { threadId } })).body.error.code).toBe(
    'thread_exists',
  );
  expect(
    (await gateway.call('POST', '/v1/threads', { body: { threadId, ifExists: 'doNothing' } })).body,
  ).toEqual(thread);
  expect((await gateway.call('DELETE', `/v1/threads/${threadId}`)).status).toBe(204);
  expect((await gateway.call('GET', `/v1/threads/${threadId}`)).status).toBe(404);
});

test('a message is accepted with 202 and the URL of its stream', async () => {
  const gateway = await openGateway();
  const threadId = await newThread(gateway);
  const headers = { 'idempotency-key': 'k1' };
  const first = await gateway.call('POST', `/v1/threads/${threadId}/runs`, {
    body: { input: 'hello' },
    headers,
  });
  expect(first.status).toBe(202);
  expect(first.body).toMatchObject({
    threadId,
    seq: 1,
    kind: 'message',
    status: 'pending',
    attempt: 0,
    result: null,
  });
  expect(first.headers.get('content-location')).toBe(`/v1/threads/${threadId}/runs/${first.body.runId}`);
  expect(first.body.streamUrl).toBe(`/v1/threads/${threadId}/runs/${first.body.runId}/stream`);
  expect(
    (await gateway.call('POST', `/v1/threads/${threadId}/runs`, { body: { input: 'hello' }, headers })).body,
  ).toEqual(first.body);
  const clash = await gateway.call('POST', `/v1/threads/${threadId}/runs`, {
    body: { input: 'other' },
    headers,
  });
  expect([clash.status, clash.body.error.code]).toEqual([422, 'idempotency_conflict']);
});

test('waiting for a run returns its result, at any gateway', async () => {
  const tag = randomUUID();
  const [one, two] = [await openGateway({ tag }), await openGateway({ tag })];
  const worker = await openFakeWorker(two.dispatch, connectTestRedis());
  const threadId = await newThread(one);
  const waiting = one.call('POST', `/v1/threads/${threadId}/runs/wait`, { body: { input: 'hello' } });
  await expect
    .poll(async () => (await two.call('GET', `/v1/threads/${threadId}/runs`)).body.runs.length)
    .toBe(1);
  await worker.finish(threadId, { status: 'success', result: 'hi' });
  expect((await waiting).body).toMatchObject({ status: 'success', result: 'hi', attempt: 1 });
});

test('strategy reject names the run in progress; a full mailbox returns 429', async () => {
  const gateway = await openGateway();
  const threadId = await newThread(gateway);
  const path = `/v1/threads/${threadId}/runs`;
  const { body: run } = await gateway.call('POST', path, { body: { input: 'first' } });
  const rejected = await gateway.call('POST', path, { body: { input: 'x', multitaskStrategy: 'reject' } });
  expect(rejected.status).toBe(409);
  expect(rejected.body.error).toMatchObject({
    code: 'run_in_progress',
    details: { runId: run.runId, streamUrl: expect.any(String) },
  });
  for (let n = 1; n < 100; n++) await gateway.call('POST', path, { body: { input: 'more' } });
  const full = await gateway.call('POST', path, { body: { input: 'too much' } });
  expect([full.status, full.body.error.code, full.headers.get('retry-after')]).toEqual([
    429,
    'mailbox_full',
    '1',
  ]);
});

test('a waiting run can be cancelled', async () => {
  const gateway = await openGateway();
  const threadId = await newThread(gateway);
  const { body: run } = await gateway.call('POST', `/v1/threads/${threadId}/runs`, {
    body: { input: 'first' },
  });
  const { body } = await gateway.call('POST', `/v1/threads/${threadId}/runs/${run.runId}/cancel`);
  expect(body).toMatchObject({ runId: run.runId, status: 'cancelled' });
});

test('a task over REST: created once per key, limited, cancelled', async () => {
  const gateway = await openGateway();
  const parentThreadId = await newThread(gateway);
  const headers = { 'idempotency-key': 't1' };
  const first = await gateway.call('POST', '/v1/tasks', {
    body: { prompt: 'count', parentThreadId },
    headers,
  });
  expect(first.status).toBe(201);
  expect(first.body).toMatchObject({
    status: 'working',
    iteration: 1,
    maxIterations: 5,
    verdict: null,
    parentThreadId,
  });
  const again = await gateway.call('POST', '/v1/tasks', {
    body: { prompt: 'count', parentThreadId },
    headers,
  });
  expect([again.status, again.body.taskId]).toEqual([200, first.body.taskId]);
  for (let n = 1; n < 10; n++)
    await gateway.call('POST', '/v1/tasks', { body: { prompt: `count ${n}`, parentThreadId } });
  const eleventh = await gateway.call('POST', '/v1/tasks', { body: { prompt: 'eleven', parentThreadId } });
  expect([eleventh.status, eleventh.body.error.code]).toEqual([429, 'too_many_children']);
  const { body } = await gateway.call('POST', `/v1/tasks/${first.body.taskId}/cancel`);
  expect(body).toMatchObject({ status: 'cancelled', verdict: 'interrupted' });
});

test('tools are listed, described and called; bad input names the field', async () => {
  const gateway = await openGateway({ plugins: [probe] });
  const names = (await gateway.call('GET', '/v1/tools')).body.tools.map(
    (tool: { name: string }) => tool.name,
  );
  expect(names).toEqual(['probe__whoami', 'probe__strict', 'probe__steps', 'probe__broken']);
  expect((await gateway.call('GET', '/v1/tools/probe__strict')).body.inputSchema.required).toEqual(['n']);
  const post = (name: string, args: object) =>
    gateway.call('POST', `/v1/tools/${name}`, { body: { arguments: args } });
  expect((await post('probe__strict', { n: 1 })).body).toEqual({
    content: [{ type: 'text', text: 'ran' }],
    isError: false,
  });
  const bad = await post('probe__strict', { n: 1, list: [{ kind: 'c' }] });
  expect([bad.status, bad.body.error.code]).toEqual([422, 'invalid_tool_input']);
  expect(bad.body.error.message).toContain('/list/0/kind');
  expect((await post('probe__strict', { n: '1' })).status).toBe(422);
  expect((await post('probe__broken', {})).body).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('the disk is full') }],
  });
  expect((await post('probe__nothing', {})).body.error.code).toBe('tool_not_found');
});

const unknown = [
  ['GET', `/v1/threads/${newThreadId()}`],
  ['DELETE', `/v1/threads/${newThreadId()}`],
  ['GET', '/v1/threads/nonsense'],
  ['GET', `/v1/threads/${newThreadId()}/runs`],
  ['GET', `/v1/threads/${newThreadId()}/runs/${newRunId()}`],
  ['GET', `/v1/threads/${newThreadId()}/events`],
  ['GET', `/v1/tasks/${newTaskId()}`],
  ['POST', `/v1/tasks/${newTaskId()}/cancel`],
  ['GET', '/v1/tools/nothing'],
  ['GET', '/v1/nothing'],
] as const;

test('unknown resources are 404, in the documented shape', async () => {
  const gateway = await openGateway();
  for (const [method, path] of unknown) {
    const { status, body } = await gateway.call(method, path);
    expect([path, status, typeof body.error.message]).toEqual([path, 404, 'string']);
  }
});

test('malformed requests are refused entirely, with the documented code', async () => {
  const gateway = await openGateway();
  const threadId = await newThread(gateway);
  const runs = `/v1/threads/${threadId}/runs`;
  const cases: [string, unknown, Record<string, string>, number, string][] = [
    [runs, '{"input":', {}, 400, 'invalid_request'],
    [runs, '', { 'content-type': 'application/json' }, 400, 'invalid_request'],
    [runs, {}, {}, 400, 'invalid_request'],
    [runs, { input: 5 }, {}, 400, 'invalid_request'],
    [runs, { input: '  \n ' }, {}, 400, 'invalid_request'],
    [runs, { input: 'x', unknown: 1 }, {}, 400, 'invalid_request'],
    [runs, { input: 'x', multitaskStrategy: 'rollback' }, {}, 400, 'invalid_request'],
    [runs, ['input'], {}, 400, 'invalid_request'],
    [runs, 'null', {}, 400, 'invalid_request'],
    [runs, '{"__proto__":{"x":1},"input":"x"}', {}, 400, 'invalid_request'],
    [runs, { input: 'x'.repeat(300_000) }, {}, 413, 'body_too_large'],
    [runs, 'input=x', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    [runs, 'x', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['/v1/threads', { threadId: 'a b' }, {}, 400, 'invalid_request'],
    ['/v1/threads', { threadId: '..' }, {}, 400, 'invalid_request'],
    ['/v1/threads', { threadId: 'x'.repeat(129) }, {}, 400, 'invalid_request'],
    ['/v1/tasks', { prompt: ' ' }, {}, 400, 'invalid_request'],
    ['/v1/tasks', { prompt: 'x', maxIterations: 0 }, {}, 400, 'invalid_request'],
    ['/v1/tasks', { prompt: 'x', maxIterations: '3' }, {}, 400, 'invalid_request'],
    ['/v1/tools/time__current_time', { arguments: [] }, {}, 400, 'invalid_request'],
  ];
  for (const [path, body, headers, status, code] of cases) {
    const answer = await gateway.call('POST', path, { body, headers });
    expect([body, answer.status, answer.body.error?.code]).toEqual([body, status, code]);
  }
  expect((await gateway.call('GET', runs)).body.runs).toEqual([]);
});

test('a key is required; it sees only its tenant, and may do only what its scopes allow', async () => {
  const keys = [
    keyFor('key-of-a'),
    keyFor('key-of-b', { tenant: 'other' }),
    keyFor('tools-only', { scopes: ['tools'] }),
  ];
  const gateway = await openGateway({ keys });
  const create = await gateway.call('POST', '/v1/threads', { body: {}, headers: bearer('key-of-a') });
  const path = `/v1/threads/${create.body.threadId}`;
  for (const headers of [{}, bearer('wrong'), { authorization: 'Basic eDp5' }]) {
    const answer = await gateway.call('GET', path, { headers });
    expect([answer.status, answer.body.error.code]).toEqual([401, 'unauthorized']);
  }
  expect((await gateway.call('GET', path, { headers: bearer('key-of-b') })).body.error.code).toBe(
    'thread_not_found',
  );
  expect((await gateway.call('GET', path, { headers: bearer('tools-only') })).body.error.code).toBe(
    'forbidden',
  );
  expect((await gateway.call('GET', '/v1/tools', { headers: bearer('tools-only') })).status).toBe(200);
  expect((await gateway.call('GET', '/healthz')).status).toBe(200);
});

test('a foreign web page cannot call the gateway: Host and Origin are checked everywhere', async () => {
  const gateway = await openGateway();
  const inject = async (headers: Record<string, string>, url = '/v1/threads') =>
    (await gateway.app.inject({ method: 'GET', url, headers })).statusCode;
  expect(await inject({ host: 'localhost:8080' })).toBe(200);
  expect(await inject({ host: '[::1]:8080' })).toBe(200);
  expect(await inject({ host: 'gateway.test' })).toBe(200);
  for (const host of [
    'evil.test',
    'localhost.evil.test',
    'localhost@evil.test',
    '127.0.0.1.nip.io',
    '[::1',
    'local host',
  ]) {
    expect([host, await inject({ host })]).toEqual([host, 403]);
    expect([host, await inject({ host }, '/healthz')]).toEqual([host, 403]);
    expect([host, await inject({ host }, '/mcp')]).toEqual([host, 403]);
  }
  const local = { host: 'localhost' };
  expect(await inject({ ...local, origin: 'https://app.test' })).toBe(200);
  for (const origin of ['https://evil.test', 'http://localhost:3000', 'null', 'https://app.test.evil']) {
    expect([origin, await inject({ ...local, origin })]).toEqual([origin, 403]);
  }
});

test('all problems of a request are reported together: field, expectation, given value', async () => {
  const { call } = await openGateway();
  const { error } = (await call('POST', '/v1/tasks', { body: { prompt: ' ', maxIterations: 0, modle: 'x' } }))
    .body;
  expect(error.message.split('\n').toSorted()).toEqual([
    '- body/maxIterations: must be >= 1 (given: 0)',
    '- body/modle: unknown property "modle"',
    '- body/prompt: prompt must not be blank (given: " ")',
    'The request is not valid:',
  ]);
  expect(error.details).toContainEqual(
    expect.objectContaining({ path: 'body/prompt', message: 'prompt must not be blank', given: '" "' }),
  );
  const page = await call('GET', '/v1/threads?limit=0&offset=x');
  expect(page.body.error.message).toContain('- querystring/limit: must be >= 1 (given: 0)');
  expect(page.body.error.message).toContain('- querystring/offset: must be integer (given: "x")');
});
