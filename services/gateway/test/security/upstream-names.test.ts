/** Names that an upstream, a document or a file chooses are data: also those that every object of JavaScript has already. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parseUpstreams } from '../../src/upstreams/file/upstreams-file.ts';
import { type Gateway, openGateway, probe } from '../fixture.ts';
import { fileOf, untilReady } from '../published-servers.ts';

const main = fileURLToPath(new URL('../hostile-server.ts', import.meta.url));
const inherited = ['toString', '__proto__', 'constructor', 'hasOwnProperty'];
const call = async (gateway: Gateway, tool: string, args: object = {}) =>
  (await gateway.call('POST', `/v1/tools/${tool}`, { body: { arguments: args } })).body;

test.for([{}, { unprefixed: ['one'] }])(
  'tools named like members of every object are tools: %j',
  async (more) => {
    const upstreams = fileOf({ one: { command: process.execPath, args: [main, 'inherited'] } });
    const gateway = await openGateway({ upstreams, plugins: [probe], ...more });
    const [shown] = await untilReady(gateway, ['one']);
    const prefix = 'unprefixed' in more ? '' : 'one__';
    const left = prefix === '' ? ['__proto__'] : [];
    const problems = left.map((name) => expect.stringContaining(`"${name}" is left out`));
    expect(shown).toMatchObject({ state: 'ready', problems });
    for (const name of inherited.filter((one) => !left.includes(one))) {
      expect(shown?.tools).toContain(`${prefix}${name}`);
      expect([name, await call(gateway, `${prefix}${name}`)]).toMatchObject([
        name,
        { content: [{ text: 'said' }] },
      ]);
      expect((await gateway.call('GET', `/v1/tools/${prefix}${name}`)).body).toMatchObject({
        name: `${prefix}${name}`,
      });
    }
  },
);

/** An API that answers with the URL, the headers and the body that it was sent. */
async function openEcho() {
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ url: request.url, body, headers: request.headers }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const schema = { type: 'string' };
const operationOf = (operationId: string) => ({
  operationId,
  parameters: [
    { name: 'valueOf', in: 'query', schema },
    { name: 'toString', in: 'header', schema },
    { name: '__proto__', in: 'query', schema },
  ],
  requestBody: {
    content: {
      'application/x-www-form-urlencoded': {
        schema: { type: 'object', properties: { constructor: schema, hasOwnProperty: schema } },
      },
    },
  },
});
const document = {
  openapi: '3.1.0',
  info: { title: 'Names', version: '1' },
  paths: {
    ...Object.fromEntries(inherited.map((name) => [`/${name}`, { post: operationOf(name) }])),
    '/one/{toString}': {
      get: { operationId: 'one', parameters: [{ name: 'toString', in: 'path', required: true, schema }] },
    },
  },
};

test('operations and parameters named like members of every object are sent as given, and only if given', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const openapi = join(folder, 'api.json');
  await writeFile(openapi, JSON.stringify(document));
  const gateway = await openGateway({
    upstreams: fileOf({ api: { openapi, baseUrl: await openEcho() } }),
    plugins: [probe],
  });
  const [shown] = await untilReady(gateway, ['api']);
  expect(shown?.tools).toEqual([...inherited, 'one'].map((name) => `api__${name}`));
  for (const name of inherited) {
    const { structuredContent: sent } = await call(gateway, `api__${name}`);
    expect(sent).toMatchObject({ url: `/${name}`, body: '' });
    expect(Object.hasOwn(sent.headers, 'tostring')).toBe(false);
  }
  const args = { valueOf: 'a', toString: 'b', constructor: 'd' };
  expect((await call(gateway, 'api__toString', args)).structuredContent).toMatchObject({
    url: '/toString?valueOf=a',
    body: 'constructor=d',
    headers: { tostring: 'b' },
  });
  expect((await call(gateway, 'api__one')).error).toMatchObject({ code: 'invalid_tool_input' });
});

test('servers and transports named like members of every object are read, or are a diagnostic', () => {
  const text = `{"mcpServers": {
    "__proto__": {"command": "one"}, "constructor": {"command": "two"}, "toString": {"command": "three"},
    "odd": {"command": "four", "type": "toString"}, "extra": {"command": "five", "valueOf": 1},
    "unset": {"command": "\${toString}"}, "inherits": {"__proto__": {"command": "six"}}
  }}`;
  const { upstreams, diagnostics } = parseUpstreams(text, process.env);
  expect(upstreams.map(({ name }) => name)).toEqual(['proto', 'constructor', 'tostring', 'extra']);
  expect(diagnostics.map(({ message }) => message)).toEqual([
    expect.stringContaining('odd: the transport "toString" is not supported'),
    'extra: "valueOf" is not a field of an upstream and is ignored',
    'unset: the variable toString is not set',
    'inherits: "__proto__" is not a field of an upstream and is ignored',
    'inherits: url: must be an http or https URL',
  ]);
});

test('no upstream is called like the gateway’s own tools or a built-in plugin', () => {
  const names = ['tools', 'Delegation', 'time', 'harness', 'skill', 'mine'];
  const text = JSON.stringify({
    mcpServers: Object.fromEntries(names.map((name) => [name, { command: 'x' }])),
  });
  const { upstreams, diagnostics } = parseUpstreams(text, {});
  expect(upstreams.map(({ name }) => name)).toEqual(['mine']);
  expect(diagnostics).toHaveLength(5);
  expect(diagnostics[0]?.message).toBe('tools: the name "tools" belongs to this gateway; rename it');
});
