/** Stream tickets: what a browser's EventSource sends in place of a credential. */
import { randomUUID } from 'node:crypto';
import { Agent, get } from 'node:http';
import type { AuditRecord } from '@harness/contracts';
import { builtInPlugins } from '@harness/plugins';
import { createLogger } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { openAuthorizationServer, trusting } from '../authorization-server.ts';
import { bearer, connectTestRedis, type GatewayOptions, keyFor, openGateway } from '../fixture.ts';

const keys = [
  keyFor('page', { id: 'page-1', tenant: 'acme', scopes: ['threads', 'admin'] }),
  keyFor('other', { id: 'other-1', tenant: 'umbrella', scopes: ['threads'] }),
  keyFor('no-threads', { id: 'tools-1', tenant: 'acme', scopes: ['tools', 'bus'] }),
];

async function openTickets(options: GatewayOptions = {}) {
  const gateway = await openGateway({ keys, plugins: builtInPlugins, ...options });
  const threadOf = async (key: string) =>
    (await gateway.call('POST', '/v1/threads', { body: {}, headers: bearer(key) })).body.threadId as string;
  const make = (key: string, path: string) =>
    gateway.call('POST', '/v1/stream-tickets', { body: { path }, headers: bearer(key) });
  const ticketFor = async (key: string, path: string) => (await make(key, path)).body.ticket as string;
  /** Opens a stream as EventSource does, without any header; gives its status and its first event. */
  const open = async (path: string, base = gateway.url) => {
    const leave = new AbortController();
    onTestFinished(() => leave.abort());
    const response = await fetch(base + path, {
      headers: { accept: 'text/event-stream' },
      signal: leave.signal,
    });
    if (!response.ok) return { status: response.status, first: await response.text() };
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    return { status: response.status, first: (await reader?.read())?.value };
  };
  return { ...gateway, threadOf, make, ticketFor, open };
}

test('a ticket opens its stream once, at any gateway, without a header', async () => {
  const tag = randomUUID();
  const [one, other] = [await openTickets({ tag }), await openTickets({ tag })];
  const path = `/v1/threads/${await one.threadOf('page')}/events`;
  const { status, body, headers } = await one.make('page', path);
  expect(status).toBe(201);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(body.ticket).toMatch(/^hst_[\w-]{43}$/);
  const leftMs = Date.parse(body.expiresAt) - Date.now();
  expect(leftMs > 20_000 && leftMs <= 30_000).toBe(true);
  const opened = await one.open(`${path}?follow=true&ticket=${body.ticket}`, other.url);
  expect(opened).toEqual({ status: 200, first: expect.stringContaining('thread.created') });
  expect((await one.open(`${path}?ticket=${body.ticket}`)).status).toBe(401);
});

test('a ticket is for one path, and is used up by any other', async () => {
  const { threadOf, ticketFor, open, call } = await openTickets();
  const threadId = await threadOf('page');
  const { runId } = (
    await call('POST', `/v1/threads/${threadId}/runs`, { body: { input: 'x' }, headers: bearer('page') })
  ).body;
  const path = `/v1/threads/${threadId}/events`;
  const stream = `/v1/threads/${threadId}/runs/${runId}/stream`;
  for (const [made, used, status] of [
    [path, path, 200],
    [stream, stream, 200],
    [path, stream, 401],
    [path, `/v1/threads/${await threadOf('page')}/events`, 401],
    [path, `/v1/threads/${threadId}%2e/events`, 401],
    [path, '/v1/threads', 401],
    [path, `/v1/threads/${threadId}`, 401],
  ] as const) {
    const ticket = await ticketFor('page', made);
    expect([made, used, (await open(`${used}?ticket=${ticket}`)).status]).toEqual([made, used, status]);
  }
  for (const ticket of ['', 'x', `hst_${'0'.repeat(43)}`])
    expect([ticket, (await open(`${path}?ticket=${ticket}`)).status]).toEqual([ticket, 401]);
});

test('a ticket has the rights of its key, no more, and ends with it', async () => {
  const { threadOf, make, ticketFor, open, call } = await openTickets();
  const path = `/v1/threads/${await threadOf('page')}/events`;
  expect((await make('no-threads', path)).status).toBe(403);
  expect((await make('page', '/v1/bus/events')).status).toBe(403);
  expect((await make('no-threads', '/v1/bus/events')).status).toBe(201);
  const foreign = await ticketFor('other', path);
  expect((await open(`${path}?ticket=${foreign}`)).status).toBe(404);
  for (const wrong of ['/v1/threads', '/mcp', '', 'https://evil.test/v1/threads/x/events', `${path}/more`])
    expect([wrong, (await make('page', wrong)).status]).toEqual([wrong, 400]);

  const made = await call('POST', '/v1/keys', {
    body: { id: 'k', scopes: ['threads'] },
    headers: bearer('page'),
  });
  const ticket = await ticketFor(made.body.key, path);
  await call('DELETE', '/v1/keys/k', { headers: bearer('page') });
  expect((await open(`${path}?ticket=${ticket}`)).status).toBe(401);
});

test('a ticket is no credential for the next request on its connection', async () => {
  const { url, threadOf, ticketFor } = await openTickets();
  const path = `/v1/threads/${await threadOf('page')}/events`;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const statusOf = (to: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(url + to, { agent, headers: { accept: 'application/json' } }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode));
      }).once('error', reject);
    });
  expect(await statusOf(`${path}?ticket=${await ticketFor('page', path)}`)).toBe(200);
  expect(await statusOf(path)).toBe(401);
});

test('an access token makes tickets, too; so does a page of a gateway without keys', async () => {
  const server = await openAuthorizationServer();
  const guarded = await openTickets({ oauth: trusting(server) });
  const token = await server.sign({ tenant: 'acme', sub: 'mary', scope: 'threads' });
  const path = `/v1/threads/${await guarded.threadOf(token)}/events`;
  expect((await guarded.open(`${path}?ticket=${await guarded.ticketFor(token, path)}`)).status).toBe(200);

  const { call } = await openGateway();
  const { threadId } = (await call('POST', '/v1/threads', { body: {} })).body;
  const own = `/v1/threads/${threadId}/events`;
  const { ticket } = (await call('POST', '/v1/stream-tickets', { body: { path: own } })).body;
  expect((await call('GET', `${own}?ticket=${ticket}`)).status).toBe(200);
});

test('tickets that are not used are bounded for each key', async () => {
  const { threadOf, make, ticketFor, open } = await openTickets();
  const path = `/v1/threads/${await threadOf('page')}/events`;
  const ticket = await ticketFor('page', path);
  for (let i = 1; i < 100; i++) expect((await make('page', path)).status).toBe(201);
  expect((await make('page', path)).status).toBe(429);
  expect((await make('other', path)).status).toBe(201);
  await open(`${path}?ticket=${ticket}`);
  expect((await make('page', path)).status).toBe(201);
});

test('a ticket is in no log, in no audit and not in Redis; what it does is the key’s', async () => {
  const lines: string[] = [];
  const records: string[] = [];
  const tag = randomUUID();
  const { threadOf, ticketFor, open, call } = await openTickets({
    tag,
    logger: createLogger('gateway', 'trace', { destination: { write: (line) => void lines.push(line) } }),
    auditOutputs: [{ write: (text) => void records.push(...text.split('\n').filter(Boolean)) }],
  });
  const path = `/v1/threads/${await threadOf('page')}/events`;
  const [ticket, spare, lost] = [
    await ticketFor('page', path),
    await ticketFor('page', path),
    await ticketFor('page', path),
  ];
  await open(`${path}?ticket=${ticket}`);
  await open(`${path}?ticket=${ticket}`);
  await open(`/v1/threads/%zz/events?ticket=${spare}`);
  await call('GET', `${path}?ticket=${lost}&wrong=1`);
  const redis = connectTestRedis();
  for (const name of await redis.keys(`{${tag}}:ticket*`)) expect(name).not.toContain(spare);
  await expect.poll(() => records.length).toBe(5);
  const made = records.map((record) => JSON.parse(record) as AuditRecord);
  expect(made.filter(({ action }) => action === 'createStreamTicket')).toMatchObject([
    { keyId: 'page-1', target: path, outcome: 'ok' },
    {},
    {},
  ]);
  expect(made).toContainEqual(
    expect.objectContaining({ action: 'getThreadEvents', outcome: 'unauthorized', tenant: null }),
  );
  for (const secret of [ticket, spare, lost]) expect(lines.join('') + records.join('')).not.toContain(secret);
});
