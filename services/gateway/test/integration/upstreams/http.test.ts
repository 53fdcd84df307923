/** Upstreams over HTTP, of both eras. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { freePort } from '@harness/runtime';
import { expect, onTestFinished, test } from 'vitest';
import type { FollowedFile } from '../../../src/follow-file.ts';
import type { UpstreamsFile } from '../../../src/upstreams/file/upstreams-file.ts';
import { openAuthorizationServer, trusting } from '../../authorization-server.ts';
import { type Gateway, keyFor, openGateway, probe } from '../../fixture.ts';
import { createPlay } from '../../play-plugin.ts';
import { clientAt, fileOf, runServer, type Shown, untilReady } from '../../published-servers.ts';

const shownOf = async (gateway: Gateway, name: string) =>
  ((await gateway.call('GET', '/v1/upstreams')).body.upstreams as Shown[]).find(
    (one) => one.name === name,
  ) as Shown;
const callOf = async (gateway: Gateway, tool: string, args: object = {}) =>
  (await gateway.call('POST', `/v1/tools/${tool}`, { body: { arguments: args } })).body;

test('a gateway as upstream of another, in 2026-07-28: questions, notifications and changes pass', async () => {
  const play = createPlay('behind');
  const behind = await openGateway({ plugins: [play.plugin, probe] });
  const gateway = await openGateway({ upstreams: fileOf({ b: { url: `${behind.url}/mcp` } }), plugins: [] });
  await untilReady(gateway, ['b']);
  expect(await shownOf(gateway, 'b')).toMatchObject({
    state: 'ready',
    era: 'modern',
    protocolVersion: '2026-07-28',
    server: { name: 'harness' },
    owner: null,
  });
  const client = await clientAt(gateway.url);
  const steps: unknown[] = [];
  const onprogress = (progress: object) => void steps.push(progress);
  const stepping = client.callTool({ name: 'b__probe__steps', arguments: {} }, { onprogress });
  expect(await stepping).toMatchObject({ content: [{ text: 'finished' }] });
  expect(steps).toEqual([{ progress: 1, total: 2, message: 'half' }]);

  for (const mode of ['auto', 'legacy'] as const) {
    const asked = await clientAt(gateway.url, mode, {
      who: async () => ({ action: 'accept', content: { name: 'Ada' } }),
    });
    const answer = await asked.callTool({ name: 'b__play__ask', arguments: {} });
    const text = (answer.content as { text: string }[])[0]?.text ?? '';
    expect(JSON.parse(text)).toMatchObject({ who: { content: { name: 'Ada' } }, place: 'behind' });
  }

  const updated = Promise.withResolvers<string>();
  client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
    updated.resolve(params.uri),
  );
  await client.listen({ resourceSubscriptions: ['play://one'] });
  await expect
    .poll(async () => {
      await behind.call('POST', '/v1/tools/play__touch', { body: { arguments: { uri: 'play://one' } } });
      return Promise.race([updated.promise, 'not yet']);
    })
    .toBe('play://one');

  await behind.call('PATCH', '/v1/plugins/play', { body: { enabled: false } });
  await expect.poll(async () => (await shownOf(gateway, 'b')).tools).not.toContain('b__play__ask');
  expect((await shownOf(gateway, 'b')).tools).toContain('b__probe__steps');
});

test('results of 2026-07-28 without a resultType, which it requires, are complete', async () => {
  const behind = await openGateway({ plugins: [probe] });
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { 'content-length': _, host: __, connection: ___, ...headers } = request.headers;
    const answer = await fetch(`${behind.url}/mcp`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body,
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    if (JSON.parse(body).method === 'tools/call')
      return response.end((await answer.text()).replace(/"resultType":"complete",?/, ''));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const gateway = await openGateway({ upstreams: fileOf({ b: { url } }), plugins: [] });
  await untilReady(gateway, ['b']);
  expect(await shownOf(gateway, 'b')).toMatchObject({ era: 'modern' });
  expect(await callOf(gateway, 'b__probe__steps')).toMatchObject({ content: [{ text: 'finished' }] });
});

test('a server that forgets its sessions is asked again in a new one', async () => {
  const port = await freePort();
  const run = () => runServer('everything', { args: ['streamableHttp'], env: { PORT: String(port) }, port });
  const first = await run();
  const upstreams = fileOf({ stateful: { url: `http://127.0.0.1:${port}/mcp` } });
  const gateway = await openGateway({ upstreams, plugins: [] });
  await untilReady(gateway, ['stateful']);
  expect(await shownOf(gateway, 'stateful')).toMatchObject({ era: 'legacy' });
  await first.end();
  expect(await callOf(gateway, 'stateful__echo', { message: 'x' })).toMatchObject({ isError: true });
  await run();
  await expect
    .poll(async () => callOf(gateway, 'stateful__echo', { message: 'again' }))
    .toMatchObject({ isError: false, content: [{ text: 'Echo: again' }] });
});

test('OAuth client credentials: a token of the named issuer for the upstream, renewed when it is refused', async () => {
  const server = await openAuthorizationServer();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const oauth = trusting(server, { audiences: [url] });
  const behind = await openGateway({ port, oauth, plugins: [probe] });
  const auth = {
    clientId: 'gateway',
    clientSecret: 'the-secret-of-the-gateway',
    issuer: server.issuer,
    scope: 'tools',
  };
  const gateway = await openGateway({
    upstreams: fileOf({ safe: { url, auth } }),
    keys: [keyFor('a-key-of-the-caller')],
    plugins: [],
  });
  const headers = { authorization: 'Bearer a-key-of-the-caller' };
  const call = async () =>
    (await gateway.call('POST', '/v1/tools/safe__probe__whoami', { body: {}, headers })).body;
  await expect.poll(call).toMatchObject({ isError: false });
  expect(JSON.parse((await call()).content[0].text).tenant).toBe('acme');
  const tokens = server.asked.filter((path) => path === '/token').length;
  await server.rotate();
  await expect.poll(call).toMatchObject({ isError: false });
  expect(tokens).toBe(1);
  expect(behind.url).toContain(String(port));
});

test('a redirect to an address that the file does not name is not followed, and its target not called', async () => {
  const asked: string[] = [];
  const target = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  }).listen(0, '127.0.0.1');
  await once(target, 'listening');
  const origin = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
  const lure = createServer((_request, response) => {
    response.writeHead(307, { location: `${origin}/stolen` }).end();
  }).listen(0, '127.0.0.1');
  await once(lure, 'listening');
  onTestFinished(() => {
    for (const server of [target, lure]) server.close().closeAllConnections();
  });
  const url = `http://127.0.0.1:${(lure.address() as AddressInfo).port}/mcp?key=a-secret-in-the-address`;
  const gateway = await openGateway({ upstreams: fileOf({ lure: { url } }), plugins: [] });
  await expect.poll(async () => (await shownOf(gateway, 'lure')).lastError).toContain('redirect');
  expect(asked).toEqual([]);
  expect(JSON.stringify(await gateway.call('GET', '/v1/upstreams'))).not.toContain('a-secret-in-the-address');
});

test('the file is followed: upstreams come, change and go while the gateway runs', async () => {
  const behind = await openGateway({ plugins: [probe] });
  const entry = { url: `${behind.url}/mcp` };
  let current = fileOf({ a: entry });
  const listeners: (() => void)[] = [];
  const file: FollowedFile<UpstreamsFile> = {
    current: () => current,
    onChange: (listener) => void listeners.push(listener),
    close: () => undefined,
  };
  const change = (next: UpstreamsFile) => {
    current = next;
    for (const listener of listeners) listener();
  };
  const gateway = await openGateway({ upstreams: file, plugins: [] });
  await untilReady(gateway, ['a']);
  const ownersOf = async (list: 'tools' | 'upstreams') => {
    const { body } = await gateway.call('GET', `/v1/${list}`);
    return [...new Set((body[list] as { name: string }[]).map(({ name }) => name.split('__')[0]))];
  };
  for (const names of [
    ['c', 'a', 'b'],
    ['b', 'c', 'a'],
    ['a', 'b', 'c'],
  ]) {
    change(fileOf(Object.fromEntries(names.map((name) => [name, entry]))));
    await untilReady(gateway, names);
    expect([await ownersOf('tools'), await ownersOf('upstreams')]).toEqual([names, names]);
  }
  change(fileOf({ a: { ...entry, tools: ['*__whoami'], rename: { probe__whoami: 'who' } }, b: entry }));
  await expect.poll(async () => (await shownOf(gateway, 'a')).tools).toEqual(['a__who']);
  await untilReady(gateway, ['a', 'b']);
  expect(await callOf(gateway, 'a__who')).toMatchObject({ isError: false });
  change(fileOf({ b: entry }));
  expect(await shownOf(gateway, 'a')).toBeUndefined();
  expect((await gateway.call('POST', '/v1/tools/a__who', { body: {} })).status).toBe(404);

  const disabled = await gateway.call('PATCH', '/v1/upstreams/b', { body: { enabled: false } });
  expect(disabled.body).toMatchObject({ name: 'b', enabled: false });
  await expect.poll(async () => (await shownOf(gateway, 'b')).state).toBe('disabled');
  expect((await gateway.call('POST', '/v1/tools/b__probe__whoami', { body: {} })).status).toBe(404);
  await gateway.call('PATCH', '/v1/upstreams/b', { body: { enabled: true } });
  await expect.poll(async () => (await callOf(gateway, 'b__probe__whoami')).isError).toBe(false);
  expect((await gateway.call('POST', '/v1/upstreams/b/reconnect')).status).toBe(202);
  expect((await gateway.call('POST', '/v1/upstreams/none/reconnect')).status).toBe(404);
});
