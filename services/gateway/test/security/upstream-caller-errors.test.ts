/** The requests of one caller never disconnect an upstream for the others. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openGateway, probe } from '../fixture.ts';
import { openHostileHttp } from '../hostile-http-server.ts';
import { clientAt, fileOf, type Shown, untilReady } from '../published-servers.ts';

const hostile = fileURLToPath(new URL('../hostile-server.ts', import.meta.url));

/** An API whose answers are as long as it is asked for, and have the status that it is asked for. */
async function openApi() {
  const asked: (string | string[] | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers['x-trace']);
    const { searchParams } = new URL(request.url ?? '/', 'http://x');
    response.writeHead(Number(searchParams.get('status') ?? 200), { location: 'https://elsewhere.example' });
    response.end('x'.repeat(Number(searchParams.get('bytes') ?? 1)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const document = {
  openapi: '3.1.0',
  info: { title: 'T', version: '1' },
  paths: {
    '/a': {
      get: {
        operationId: 'get',
        parameters: [
          { name: 'X-Trace', in: 'header', schema: {} },
          { name: 'no header', in: 'header', schema: {} },
          { name: 'bytes', in: 'query', schema: { type: 'integer' } },
          { name: 'status', in: 'query', schema: { type: 'integer' } },
        ],
      },
    },
  },
};

test('an API: values that no header can have are invalid input, and answers that are too long fail their call', async () => {
  const api = await openApi();
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const openapi = join(folder, 'api.json');
  await writeFile(openapi, JSON.stringify(document));
  const gateway = await openGateway({
    upstreams: fileOf({ api: { openapi, baseUrl: api.url } }),
    plugins: [probe],
  });
  const [shown] = await untilReady(gateway, ['api']);
  expect(shown?.problems).toEqual([
    'GET /a: the header "no header" has a name that is not possible, and is not sent',
  ]);
  const call = async (args: object) =>
    (await gateway.call('POST', '/v1/tools/api__get', { body: { arguments: args } })).body;
  for (const value of ['a\r\nb', 'a\nb', '日本', 'a\u0001b', 'a\u007fb', { a: 'ł' }])
    expect([value, await call({ 'X-Trace': value })]).toMatchObject([
      value,
      { error: { code: 'invalid_tool_input' } },
    ]);
  expect(api.asked).toEqual([]);
  for (let i = 0; i < 6; i++)
    expect((await call({ bytes: 17_000_000 })).content[0].text).toContain('more than 16777216 bytes');
  for (const [status, text] of [
    [302, 'redirects to another address'],
    [999, 'no status of HTTP'],
  ])
    for (let i = 0; i < 6; i++) expect((await call({ status })).content[0].text).toContain(text);
  expect(await call({ 'X-Trace': 'caf\u00e9' })).toMatchObject({ isError: false });
  expect(api.asked.at(-1)).toBe('caf\u00e9');
});

test('a server: results that are too long fail their call', async () => {
  const url = await openHostileHttp((response, { id }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        result: { content: [{ type: 'text', text: 'x'.repeat(17_000_000) }] },
      }),
    );
  });
  const gateway = await openGateway({ upstreams: fileOf({ web: { url } }), plugins: [probe] });
  await untilReady(gateway, ['web']);
  const call = async (tool: string) =>
    (await gateway.call('POST', `/v1/tools/web__${tool}`, { body: {} })).body;
  for (let i = 0; i < 6; i++)
    expect((await call('misbehave')).content[0].text).toContain('more than 16777216 bytes');
  expect(await call('say')).toMatchObject({ content: [{ text: 'said' }] });
  const { upstreams } = (await gateway.call('GET', '/v1/upstreams')).body as { upstreams: Shown[] };
  expect(upstreams[0]).toMatchObject({ state: 'ready', losses: 0 });
});

test.for([
  ['no JSON', 'Oops'],
  ['no message', '{"jsonrpc":"2.0","id":1,"result":null}'],
] as const)('a server: inputs to which it responds with %s fail their call', async ([, body]) => {
  const url = await openHostileHttp((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(body),
  );
  const gateway = await openGateway({ upstreams: fileOf({ web: { url } }), plugins: [probe] });
  await untilReady(gateway, ['web']);
  const call = async () => (await gateway.call('POST', '/v1/tools/web__misbehave', { body: {} })).body;
  for (let i = 0; i < 6; i++) expect((await call()).content[0].text).toContain('no message of MCP');
  const { upstreams } = (await gateway.call('GET', '/v1/upstreams')).body as { upstreams: Shown[] };
  expect(upstreams[0]).toMatchObject({ state: 'ready', losses: 0 });
});

test.for([
  [500, 'unexpected input'],
  [302, 'elsewhere.example'],
  [999, 'no status of HTTP'],
] as const)('a server: inputs to which it answers %i fail their call', async ([status, text]) => {
  const url = await openHostileHttp((response) =>
    response.writeHead(status, { location: 'https://elsewhere.example' }).end('unexpected input'),
  );
  const gateway = await openGateway({ upstreams: fileOf({ web: { url } }), plugins: [probe] });
  await untilReady(gateway, ['web']);
  const call = async (tool: string) =>
    (await gateway.call('POST', `/v1/tools/web__${tool}`, { body: {} })).body;
  for (let i = 0; i < 6; i++) expect((await call('misbehave')).content[0].text).toContain(text);
  expect(await call('say')).toMatchObject({ content: [{ text: 'said' }] });
  const { upstreams } = (await gateway.call('GET', '/v1/upstreams')).body as { upstreams: Shown[] };
  expect(upstreams[0]).toMatchObject({ state: 'ready', losses: 0 });
});

test('contents of a resource that are no objects are left out', async () => {
  const one = { command: process.execPath, args: [hostile, 'resource', 'nameless'] };
  const gateway = await openGateway({ upstreams: fileOf({ one }), plugins: [probe] });
  await untilReady(gateway, ['one']);
  const client = await clientAt(gateway.url);
  expect(await client.readResource({ uri: 'x://own' })).toMatchObject({ contents: [{ uri: 'x://own' }] });
});
