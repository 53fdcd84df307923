import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { LimitsFile } from '../../src/limits/tenant-limits.ts';
import { bearer, keyFor, openGateway, probe } from '../fixture.ts';

const limitsOf = (file: object) => ({ limitsFile: LimitsFile.parse(file) });
const ada = bearer('ada');
const bob = bearer('bob');
const eve = bearer('eve');
const keys = [
  keyFor('ada', { tenant: 'acme' }),
  keyFor('bob', { tenant: 'acme' }),
  keyFor('eve', { tenant: 'other' }),
];
const statuses = (answers: { status: number }[]) =>
  Object.fromEntries(
    [...new Set(answers.map(({ status }) => status))].map((status) => [
      status,
      answers.filter((answer) => answer.status === status).length,
    ]),
  );

test('a key that sends too fast is refused with the time to wait; others are not', async () => {
  const tag = randomUUID();
  const file = limitsOf({ tenants: { acme: { keys: { ada: { requestsPerSecond: 1, burst: 5 } } } } });
  const gateways = [await openGateway({ keys, tag, ...file }), await openGateway({ keys, tag, ...file })];
  const burst = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      (gateways[n % 2] as (typeof gateways)[0]).call('GET', '/v1/tools', { headers: ada }),
    ),
  );
  const refused = burst.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThanOrEqual(5);
  expect(refused.length).toBeLessThanOrEqual(7);
  expect(refused[0]?.body.error.code).toBe('rate_limited');
  expect(refused[0]?.headers.get('retry-after')).toMatch(/^[12]$/);
  expect(refused[0]?.headers.get('ratelimit')).toMatch(/^"requests";r=0;t=[12]$/);
  expect(refused[0]?.headers.get('ratelimit-policy')).toBe('"requests";q=5;w=5');
  for (const headers of [bob, eve]) {
    const answer = await gateways[0]?.call('GET', '/v1/tools', { headers });
    expect(answer?.status).toBe(200);
    expect(answer?.headers.get('ratelimit')).toMatch(/^"requests";r=\d+;t=\d+$/);
  }
});

test('a tenant’s limit is for all its keys together, at /mcp as well', async () => {
  const file = limitsOf({ tenants: { acme: { requestsPerSecond: 1, burst: 4 } } });
  const gateway = await openGateway({ keys, ...file });
  const send = (headers: Record<string, string>) =>
    gateway.call('POST', '/mcp', {
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    });
  const answers = await Promise.all([ada, bob, ada, bob, ada, bob, ada, bob].map(send));
  expect(statuses(answers)[429]).toBeGreaterThanOrEqual(3);
  expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toBeTruthy();
  expect((await send(eve)).status).not.toBe(429);
});

test('wrong keys are refused, then limited by address; a valid key from there is served', async () => {
  const gateway = await openGateway({ keys, failuresPerSecond: 20 });
  const guess = () => gateway.call('GET', '/v1/tools', { headers: bearer('guess') });
  const guesses = await Promise.all(Array.from({ length: 100 }, guess));
  expect(statuses(guesses)[401]).toBeLessThanOrEqual(60);
  expect(statuses(guesses)[429]).toBeGreaterThanOrEqual(40);
  expect((await gateway.call('GET', '/v1/tools', { headers: ada })).status).toBe(200);
});

test('the address of a client is read through trusted proxies alone', async () => {
  const behind = async (trustedProxies: string[]) => {
    const gateway = await openGateway({ keys, trustedProxies, failuresPerSecond: 20 });
    const guess = (n: number) =>
      gateway.call('GET', '/v1/tools', {
        headers: { ...bearer('guess'), 'x-forwarded-for': `10.1.${n}.1` },
      });
    return statuses(await Promise.all(Array.from({ length: 70 }, (_, n) => guess(n))));
  };
  expect((await behind([]))[429]).toBeGreaterThanOrEqual(10);
  expect(await behind(['loopback'])).toEqual({ 401: 70 });
});

test('threads, tasks, waiting messages and messages a day are limited by tenant and by key', async () => {
  const limits = { threads: 3, waitingMessages: 2 };
  const file = limitsOf({
    tenants: {
      acme: { ...limits, keys: { bob: { threads: 1 } } },
      other: { openTasks: 1, runsPerDay: 3 },
    },
  });
  const gateway = await openGateway({ keys, ...file });
  const make = (headers: Record<string, string>) =>
    gateway.call('POST', '/v1/threads', { headers, body: {} });
  const first = await make(bob);
  expect(first.status).toBe(201);
  expect((await make(bob)).body.error).toMatchObject({
    code: 'limit_reached',
    details: { limit: 'threads', of: 'key', allowed: 1 },
  });
  const { threadId } = (await make(ada)).body;
  expect((await make(ada)).status).toBe(201);
  expect((await make(ada)).body.error.details).toEqual({ limit: 'threads', of: 'tenant', allowed: 3 });
  await gateway.call('DELETE', `/v1/threads/${first.body.threadId}`, { headers: bob });
  expect((await make(bob)).status).toBe(201);

  const send = (id: string, headers: Record<string, string>) =>
    gateway.call('POST', `/v1/threads/${id}/runs`, { headers, body: { input: 'x' } });
  expect((await send(threadId, ada)).status).toBe(202);
  expect((await send(threadId, ada)).status).toBe(202);
  expect((await send(threadId, bob)).body.error.details).toMatchObject({ limit: 'waitingMessages' });
  await gateway.call('DELETE', `/v1/threads/${threadId}`, { headers: ada });
  const { threadId: next } = (await make(ada)).body;
  expect((await send(next, ada)).status).toBe(202);

  const delegate = () => gateway.call('POST', '/v1/tasks', { headers: eve, body: { prompt: 'x' } });
  const task = await delegate();
  expect(task.status).toBe(201);
  expect((await delegate()).body.error.details).toMatchObject({ limit: 'openTasks' });
  await gateway.call('POST', `/v1/tasks/${task.body.taskId}/cancel`, { headers: eve, body: {} });
  expect((await delegate()).status).toBe(201);
  const { threadId: last } = (await make(eve)).body;
  expect((await send(last, eve)).status).toBe(202);
  const late = await send(last, eve);
  expect(late.body.error.details).toMatchObject({ limit: 'runsPerDay', of: 'tenant' });
  expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('metadata, capabilities and subscribed addresses have a size; MCP sessions and subscriptions a number', async () => {
  const file = limitsOf({ defaults: { mcpSessions: 2, subscriptions: 1 } });
  const gateway = await openGateway({ keys, ...file });
  const metadata = { text: 'x'.repeat(17_000) };
  const big = await gateway.call('POST', '/v1/threads', { headers: ada, body: { metadata } });
  expect(big.status).toBe(400);
  expect(big.body.error.message).toContain('16384');
  const post = (message: object, headers = {}) =>
    gateway.call('POST', '/mcp', {
      headers: { ...ada, accept: 'application/json, text/event-stream', ...headers },
      body: { jsonrpc: '2.0', id: 1, ...message },
    });
  const open = (capabilities: object) =>
    post({
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 't', version: '1' } },
    });
  expect((await open({ experimental: metadata })).status).toBe(400);
  const session = (await open({})).headers.get('mcp-session-id') ?? '';
  expect((await open({})).status).toBe(200);
  const third = await open({});
  expect(third.status).toBe(429);
  expect(third.body.error.data).toMatchObject({ code: 'limit_reached' });
  const subscribe = (uri: string) =>
    post(
      { method: 'resources/subscribe', params: { uri } },
      { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' },
    );
  expect((await subscribe('a://b')).body.result).toEqual({});
  expect((await subscribe('a://b')).body.result).toEqual({});
  expect((await subscribe('a://c')).body.error.data).toMatchObject({ code: 'limit_reached' });
  expect((await subscribe(`a://${'x'.repeat(3_000)}`)).body.error.message).toContain('characters');
});

test('calls in progress are limited by tenant, without an effect on other tenants', async () => {
  const file = limitsOf({ tenants: { acme: { concurrentCalls: 2 } } });
  const gate = Promise.withResolvers<void>();
  onTestFinished(() => gate.resolve());
  const begun: (() => void)[] = [];
  const waiting = {
    ...probe,
    tools: [
      {
        name: 'wait',
        description: 'Waits',
        schema: {},
        async handler() {
          begun.shift()?.();
          await gate.promise;
          return 'done';
        },
      },
    ],
  };
  const gateway = await openGateway({ keys, plugins: [waiting], ...file });
  const call = (headers: Record<string, string>) =>
    gateway.call('POST', '/v1/tools/probe__wait', { headers, body: {} });
  const started = [0, 1].map(() => new Promise<void>((resolve) => begun.push(resolve)));
  const running = [call(ada), call(bob)];
  await Promise.all(started);
  expect((await call(ada)).body.error.details).toMatchObject({ limit: 'concurrentCalls', of: 'tenant' });
  const other = call(eve);
  gate.resolve();
  expect(statuses(await Promise.all([...running, other]))).toEqual({ 200: 3 });
  expect((await call(ada)).status).toBe(200);
});

test('a credential is checked before the body: without a valid one the body is not read', async () => {
  const gateway = await openGateway({ keys });
  const { port } = new URL(gateway.url);
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: 200000\r\n\r\n{`,
  );
  const [head] = await new Promise<string[]>((resolve) =>
    socket.once('data', (data) => resolve(String(data).split('\r\n'))),
  );
  expect(head).toContain('401');
  await new Promise((resolve) => socket.once('close', resolve));
});

test('a list never carries more than 1 MB; metadata is in it on request', async () => {
  const gateway = await openGateway({ keys });
  const metadata = { text: 'x'.repeat(16_000) };
  const made = Array.from({ length: 80 }, () =>
    gateway.call('POST', '/v1/threads', { headers: ada, body: { metadata } }),
  );
  await Promise.all(made);
  const list = (query: string) => gateway.call('GET', `/v1/threads?limit=200&${query}`, { headers: ada });
  const plain = (await list('')).body;
  expect(plain.threads).toHaveLength(80);
  expect(plain.threads[0]).not.toHaveProperty('metadata');
  const seen: string[] = [];
  for (let more = true; more; ) {
    const { body } = await list(`metadata=true&offset=${seen.length}`);
    expect(JSON.stringify(body).length).toBeLessThanOrEqual(1_050_000);
    expect(body.threads[0].metadata).toEqual(metadata);
    seen.push(...body.threads.map(({ threadId }: { threadId: string }) => threadId));
    more = body.truncated === true;
  }
  expect(new Set(seen).size).toBe(80);
});

test('the headers describe the limit that refuses; a lower limit applies at once', async () => {
  const options = { keys, ...limitsOf({ tenants: { acme: { requestsPerSecond: 1, burst: 3 } } }) };
  const gateway = await openGateway(options);
  const get = () => gateway.call('GET', '/v1/tools', { headers: ada });
  const answers = await Promise.all(Array.from({ length: 6 }, get));
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.headers.get('ratelimit-policy')).toBe('"requests";q=3;w=3');
  options.limitsFile = LimitsFile.parse({});
  expect(statuses(await Promise.all(Array.from({ length: 30 }, get)))).toEqual({ 200: 30 });
  options.limitsFile = LimitsFile.parse({
    tenants: { acme: { keys: { ada: { requestsPerSecond: 1, burst: 2 } } } },
  });
  const lowered = statuses(await Promise.all(Array.from({ length: 20 }, get)));
  expect(lowered[200] ?? 0).toBeLessThanOrEqual(3);
});
