/** Upstreams that write without end: they are cut off, with a reason, and the gateway responds to everybody else meanwhile. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { type Gateway, openGateway, probe } from '../fixture.ts';
import { openHostileHttp } from '../hostile-http-server.ts';
import { clientAt, fileOf, type Shown, untilReady } from '../published-servers.ts';

const main = fileURLToPath(new URL('../hostile-server.ts', import.meta.url));
const shownOf = async (gateway: Gateway, name: string) =>
  ((await gateway.call('GET', '/v1/upstreams')).body.upstreams as Shown[]).find(
    (one) => one.name === name,
  ) as Shown;

/** The longest wait for /healthz while `until` is not true yet, ms. */
async function slowestProbe(gateway: Gateway, until: () => boolean): Promise<number> {
  let slowest = 0;
  while (!until()) {
    const begunAt = performance.now();
    await gateway.call('GET', '/healthz');
    slowest = Math.max(slowest, performance.now() - begunAt);
  }
  return slowest;
}
/** Many times what is measured (15 to 60 ms), so that a busy machine does not fail it. */
const slowestMs = 1_000;

test.for(['flood-garbage', 'flood-empty', 'flood-notes'])(
  'a child that begins with a flood is cut off: %s',
  async (how) => {
    const upstreams = fileOf({ floods: { command: process.execPath, args: [main, how] } });
    const gateway = await openGateway({ upstreams, plugins: [probe] });
    await gateway.call('GET', '/healthz');
    let lastError: string | null = null;
    const watching = expect
      .poll(async () => {
        ({ lastError } = await shownOf(gateway, 'floods'));
        return lastError;
      })
      .toContain('more than 5000 lines a second');
    let isOver = false;
    const slowest = slowestProbe(gateway, () => isOver);
    await watching.finally(() => {
      isOver = true;
    });
    expect(await slowest).toBeLessThan(slowestMs);
  },
);

const event = (id: number) =>
  `event: message\ndata: {"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"said"}]}}\n\n`;
const note =
  'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n';

test.for([
  ['empty lines', '\n'],
  ['comments', ':\n'],
] as const)('a response that is a flood of %s is cut off', async ([, part]) => {
  const url = await openHostileHttp((response, { id }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(part.repeat(Math.ceil(8_000_000 / part.length)));
    response.end(event(id));
  });
  const gateway = await openGateway({ upstreams: fileOf({ web: { url } }), plugins: [probe] });
  await untilReady(gateway, ['web']);
  await gateway.call('GET', '/healthz');
  let failed: { isError: boolean; content: { text: string }[] } | undefined;
  const call = gateway.call('POST', '/v1/tools/web__misbehave', { body: {} }).then(({ body }) => {
    failed = body;
  });
  const slowest = await slowestProbe(gateway, () => failed !== undefined);
  await call;
  expect(failed).toMatchObject({ isError: true });
  await expect.poll(async () => (await shownOf(gateway, 'web')).lastError).toContain('lines a second');
  expect(slowest).toBeLessThan(slowestMs);
});

test('a response of many notifications is read in turns with everything else', async () => {
  const url = await openHostileHttp((response, { id }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(note.repeat(9_000));
    response.end(event(id));
  });
  const gateway = await openGateway({ upstreams: fileOf({ web: { url } }), plugins: [probe] });
  await untilReady(gateway, ['web']);
  let answer: { content: { text: string }[] } | undefined;
  const call = gateway.call('POST', '/v1/tools/web__misbehave', { body: {} }).then(({ body }) => {
    answer = body;
  });
  const slowest = await slowestProbe(gateway, () => answer !== undefined);
  await call;
  expect(answer).toMatchObject({ content: [{ text: 'said' }] });
  expect(slowest).toBeLessThan(slowestMs);
});

test('a batch of more messages than one would send is refused', async () => {
  const url = await openHostileHttp((response) => {
    const message = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(Array.from({ length: 100_000 }, () => message)));
  });
  const gateway = await openGateway({ upstreams: fileOf({ web: { url } }), plugins: [probe] });
  await untilReady(gateway, ['web']);
  const { body } = await gateway.call('POST', '/v1/tools/web__misbehave', { body: {} });
  expect(body).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('at most 100') }] });
});

test.for([
  ['push-large', '5 MB a second that nobody asked for'],
  ['push-endless', '5 MB a second that nobody asked for'],
  ['push-questions', 'does not read the answers to 200 requests'],
] as const)('a child that sends few messages and much to do is cut off: %s', async ([tool, reason]) => {
  const upstreams = fileOf({ floods: { command: process.execPath, args: [main, 'pushes'] } });
  const gateway = await openGateway({ upstreams, plugins: [probe] });
  await untilReady(gateway, ['floods']);
  const { body } = await gateway.call('POST', `/v1/tools/floods__${tool}`, { body: {} });
  expect(body).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(reason) }] });
});

test.for([
  [
    'large messages',
    `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(1_000_000) } })}\n\n`,
    30,
    '5 MB a second that nobody asked for',
  ],
  [
    'questions whose answers are not taken',
    'data: {"jsonrpc":"2.0","id":"question","method":"ping"}\n\n',
    300,
    'does not read the answers to 200 requests',
  ],
] as const)('a server that responds with %s is cut off', async ([, part, times, reason]) => {
  const url = await openHostileHttp((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let i = 0; i < times; i++) response.write(part);
  });
  const gateway = await openGateway({ upstreams: fileOf({ web: { url } }), plugins: [probe] });
  await untilReady(gateway, ['web']);
  const { body } = await gateway.call('POST', '/v1/tools/web__misbehave', { body: {} });
  expect(body).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(reason) }] });
});

test('a response that is never finished is closed when its call is cancelled, and after its result', async () => {
  const closed: Promise<unknown>[] = [];
  const begun = Promise.withResolvers<void>();
  const url = await openHostileHttp((response, { id }) => {
    closed.push(once(response, 'close'));
    if (closed.length === 1) return begun.resolve();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event(id));
  });
  const gateway = await openGateway({ upstreams: fileOf({ web: { url } }), plugins: [probe] });
  await untilReady(gateway, ['web']);
  const leave = new AbortController();
  const path = `${gateway.url}/v1/tools/web__misbehave`;
  const headers = { 'content-type': 'application/json' };
  const left = fetch(path, { method: 'POST', body: '{}', headers, signal: leave.signal }).catch(() => 'left');
  await begun.promise;
  leave.abort();
  expect(await left).toBe('left');
  await closed[0];
  const { body } = await gateway.call('POST', '/v1/tools/web__misbehave', { body: {} });
  expect(body).toMatchObject({ content: [{ text: 'said' }] });
  await closed[1];
});

test('a server that wants its stream opened again at once waits for half a second', async () => {
  const opened: number[] = [];
  const isOpened = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      if (opened.push(performance.now()) === 3) isOpened.resolve();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.end('retry: 0\nid: 1\ndata:\n\n');
    }
    const { id, params } = (await json(request)) as { id?: number; params?: { protocolVersion?: string } };
    if (id === undefined) return response.writeHead(202).end();
    const serverInfo = { name: 'again', version: '1' };
    const result = { protocolVersion: params?.protocolVersion, serverInfo, capabilities: {} };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await openGateway({ upstreams: fileOf({ again: { url } }), plugins: [probe] });
  await isOpened.promise;
  const [first = 0, , third = 0] = opened;
  expect(third - first).toBeGreaterThan(900);
});

test('only changes of subscribed resources are announced to the fleet', async () => {
  const upstreams = fileOf({ one: { command: process.execPath, args: [main, 'resource', 'pushes'] } });
  const gateway = await openGateway({ upstreams, plugins: [probe] });
  await untilReady(gateway, ['one']);
  const heard: string[] = [];
  const isHeard = Promise.withResolvers<void>();
  gateway.dispatch.replicas.onSignal((signal) => {
    if (signal.kind === 'resource_updated' && heard.push(signal.uri) === 1) isHeard.resolve();
  });
  await gateway.call('POST', '/v1/tools/one__push-update', { body: {} });
  const client = await clientAt(gateway.url);
  expect(heard).toEqual([]);
  await client.listen({ resourceSubscriptions: ['x://own'] });
  await isHeard.promise;
  expect(heard).toEqual(['x://own']);
});
