import { once } from 'node:events';
import { type IncomingMessage, request as open } from 'node:http';
import { busTools } from '@harness/contracts';
import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import { bearer, keyFor, openGateway, probe } from '../fixture.ts';
import { beginSession, modernCaller } from '../mcp-wire.ts';

/** As text, because JSON.stringify has a depth limit, too. */
const levels = 5_000;
const deep = `${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`;

test('JSON that is nested too deeply is refused at every endpoint as a client error', async () => {
  const { call, url } = await openGateway({ plugins: [...builtInPlugins, probe] });
  for (const [path, body] of [
    ['/v1/threads', `{"metadata":${deep}}`],
    ['/v1/bus/tasks', `{"taskId":"t","payload":${deep}}`],
    ['/v1/tools/probe__whoami', `{"arguments":${deep}}`],
  ] as const) {
    const answer = await call('POST', path, { body });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_request']);
  }
  const { sessionId } = await beginSession(url);
  const params = (meta: string) => `"params":{"name":"probe__whoami","arguments":${deep},"_meta":${meta}}`;
  const envelope = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}';
  for (const [meta, headers] of [
    ['{}', { 'mcp-session-id': sessionId }],
    [
      envelope,
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'probe__whoami' },
    ],
  ] as const) {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call",${params(meta)}}`;
    const answer = await call('POST', '/mcp', { body, headers: { ...headers } });
    expect([answer.status, answer.body.error.code, answer.body.error.data]).toEqual([
      400,
      -32602,
      { code: 'invalid_request' },
    ]);
  }
});

test.each([
  ['{"jsonrpc":"2.0","id":1,', -32700],
  ['', -32700],
  ['5', -32600],
  ['[]', -32600],
  ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
  ['{"jsonrpc":"2.0","id":1}', -32600],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
])('the body %j at /mcp is refused with the code of JSON-RPC', async (body, code) => {
  const { call } = await openGateway();
  const headers = { accept: 'application/json, text/event-stream' };
  const answer = await call('POST', '/mcp', { body, headers });
  expect([answer.status, answer.body.error.code, answer.body.error.data]).toEqual([
    400,
    code,
    { code: 'invalid_request' },
  ]);
});

test('a refusal of a 2025 request has its id', async () => {
  const { call } = await openGateway({ plugins: [probe] });
  const headers = { accept: 'application/json, text/event-stream' };
  for (const [id, method, params, found] of [
    [7, 'initialize', { protocolVersion: 5 }, 7],
    ['a', 'ping', [], 'a'],
    [null, 'ping', {}, null],
  ] as const) {
    const { body } = await call('POST', '/mcp', { body: { jsonrpc: '2.0', id, method, params }, headers });
    expect([body.id, body.error.data]).toEqual([found, { code: 'invalid_request' }]);
  }
});

test('a body that is not an object is refused where one is required', async () => {
  const { call } = await openGateway();
  for (const body of [[], 5, 'x', true]) {
    const answer = await call('POST', '/v1/bus/workers', { body: JSON.stringify(body) });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_request']);
  }
});

test.each([{ _meta: 'x' }, { _meta: null }, { _meta: [] }])('%j is not a 2026 envelope', async (params) => {
  const { call } = await openGateway({ plugins: [probe] });
  const answer = await call('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'ping', params } });
  expect([answer.status, answer.body.result]).toEqual([200, {}]);
});

test('a capability of the wrong shape counts as absent', async () => {
  const { url } = await openGateway({ plugins: [probe] });
  const client = modernCaller({ capabilities: { extensions: 'io.modelcontextprotocol/tasks' } });
  const { error } = await (
    await client.request(url, 'tasks/get', { params: { taskId: 'call_x' } })
  ).message();
  expect(error.data).toMatchObject({ code: 'capability_missing' });
});

test.each<[method: string, params: Record<string, unknown>, wrong: string]>([
  ['tools/list', { cursor: 5 }, 'cursor'],
  ['resources/list', { cursor: 5 }, 'cursor'],
  ['resources/templates/list', { cursor: {} }, 'cursor'],
  ['prompts/list', { cursor: null }, 'cursor'],
  ['prompts/get', { name: 'x', arguments: { a: 1 } }, 'arguments.a'],
  ['completion/complete', { ref: 5, argument: { name: 'a', value: 'b' } }, 'ref'],
])('wrong params of %s (%j) are refused with their place, in both eras', async (method, params, wrong) => {
  const { url } = await openGateway({ plugins: [...builtInPlugins, probe] });
  const session = await beginSession(url);
  for (const wire of [
    await session.request(url, method, { params }),
    await modernCaller().request(url, method, { params }),
  ])
    expect((await wire.message()).error).toEqual({
      code: -32602,
      message: expect.stringContaining(`${method}: ${wrong}: Invalid input`),
      data: { code: 'invalid_request' },
    });
});

test.each<
  [what: string, more: Record<string, unknown>, expected: [status: number, rpcCode: number, code: string]]
>([
  ['the id null', { id: null }, [400, -32600, 'invalid_request']],
  ['an array as id', { id: [] }, [400, -32600, 'invalid_request']],
  ['a method of the other era', { method: 'logging/setLevel' }, [404, -32601, 'method_not_allowed']],
  ['an unknown method', { method: 'no/such' }, [404, -32601, 'method_not_allowed']],
  ['headers of another tool', { method: 'tools/call', name: 'x' }, [400, -32020, 'invalid_request']],
])('a 2026 request with %s is refused with a code of the error table', async (_what, more, expected) => {
  const { call } = await openGateway({ plugins: [probe] });
  const { name = 'probe__whoami', ...rest } = more;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { name, _meta }, ...rest };
  const headers = { ...modernHeaders, 'mcp-method': body.method };
  const answer = await call('POST', '/mcp', { body, headers });
  const { code, data } = answer.body.error;
  expect([answer.status, code, data?.code]).toEqual(expected);
});

test('an unknown key is reported as such at every endpoint', async () => {
  const { call } = await openGateway({ keys: [keyFor('known')] });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  for (const [path, body] of [
    ['/v1/threads', {}],
    ['/mcp', list],
  ] as const) {
    const answer = await call('POST', path, { body, headers: bearer('unknown') });
    expect([answer.status, answer.body.error.message]).toEqual([
      401,
      expect.stringContaining('The API key is not known.'),
    ]);
  }
});

test('a key with only the scope bus has only the bus tools at /mcp', async () => {
  const keys = [
    keyFor('bus', { scopes: ['bus'] }),
    keyFor('status', { scopes: ['bus'], tools: ['bus__get_status', 'time__*'] }),
  ];
  const { url } = await openGateway({ keys, plugins: [...builtInPlugins, probe] });
  const names = Object.keys(busTools).map((name) => `bus__${name}`);
  for (const [key, expected] of [
    ['bus', names],
    ['status', ['bus__get_status']],
  ] as const) {
    const headers = bearer(key);
    const session = await beginSession(url, { headers });
    const modern = modernCaller({ headers });
    for (const wire of [await session.request(url, 'tools/list'), await modern.request(url, 'tools/list')]) {
      const { result } = await wire.message();
      expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(expected);
    }
    expect(
      (await (await session.call(url, 'bus__get_status')).message()).result.structuredContent,
    ).toMatchObject({ depth: 0 });
    for (const wire of [
      await session.call(url, 'probe__whoami'),
      await session.request(url, 'resources/list'),
    ])
      expect((await wire.message()).error.data).toMatchObject({ code: 'forbidden' });
  }
});

/** Both entrances of /mcp: the short path, and Fastify, which gets requests with an Origin. */
const entrances = [
  ['/v1/tools/probe__whoami', {}],
  ['/mcp', {}],
  ['/mcp', { origin: 'https://app.test' }],
] as const;

/** A call of probe__whoami with these arguments, as JSON text. */
const callWith = (path: string, args: string) =>
  path === '/mcp'
    ? `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"probe__whoami","arguments":${args},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
    : `{"arguments":${args}}`;
const modernHeaders = {
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'probe__whoami',
};

test('the media type is exactly application/json, at every entrance', async () => {
  const { call } = await openGateway({ plugins: [probe] });
  const types: [type: string, status: number][] = [
    ['application/json', 200],
    ['Application/JSON; charset=utf-8', 200],
    ['application/json ;x', 200],
    ...[
      'application/jsonx',
      'application/json+x',
      'application/json,text/plain',
      'application/json text/plain',
      'application/json\tx',
      'application/vnd.api+json',
      'text/json',
      ';application/json',
    ].map((type): [string, number] => [type, 415]),
  ];
  for (const [path, headers] of entrances)
    for (const [type, status] of types) {
      const sent = {
        body: callWith(path, '{}'),
        headers: { ...modernHeaders, ...headers, 'content-type': type },
      };
      expect([path, type, (await call('POST', path, sent)).status]).toEqual([path, type, status]);
    }
});

test('a field that could reach a prototype is refused, however it is written, at every entrance', async () => {
  const { call } = await openGateway({ plugins: [probe] });
  for (const [path, headers] of entrances)
    for (const [args, status] of [
      ['{"constructor":"a word"}', 200],
      ['{"__proto__":{"a":1}}', 400],
      ['{"\\u005f_proto__":{"a":1}}', 400],
      ['{"a":[{"\\u005f\\u005fproto__":1}]}', 400],
      ['{"constructor":{"prototype":{}}}', 400],
      ['{"\\u0063onstructor":{"\\u0070rototype":1}}', 400],
    ] as const) {
      const sent = { body: callWith(path, args), headers: { ...modernHeaders, ...headers } };
      expect([path, args, (await call('POST', path, sent)).status]).toEqual([path, args, status]);
    }
});

test('errors and the output of commands repeat no terminal escape or invisible character', async () => {
  const { call, url } = await openGateway({ plugins: [probe] });
  const dirty = 'A\u001b[31mB\u202eC\u{E0041}D';
  const { threadId } = (await call('POST', '/v1/threads', { body: {} })).body;
  const run = async (command: string) =>
    (await call('POST', `/v1/threads/${threadId}/commands`, { body: { command } })).body;
  expect((await run(`/${dirty}`)).output).toContain('/ABCD');
  expect(await run(`/model ${dirty}`)).toMatchObject({
    isError: true,
    output: expect.stringContaining('no control characters'),
  });
  const { error } = (await call('GET', `/v1/threads/${encodeURIComponent(dirty)}`)).body;
  expect(error.message).toContain('ABCD');
  const session = await beginSession(url);
  const fault = (await (await session.call(url, dirty)).message()).error;
  expect(fault.message).toContain('ABCD');
});

test('100 Continue is sent only to clients with a valid credential', async () => {
  const { url } = await openGateway({ keys: [keyFor('a-key')] });
  const ask = async (path: string, key: string, body: string) => {
    const headers = { ...bearer(key), 'content-type': 'application/json', expect: '100-continue' };
    const length = { 'content-length': Buffer.byteLength(body) };
    const asked = open(new URL(path, url), { method: 'POST', headers: { ...headers, ...length } });
    let isContinued = false;
    asked.on('continue', () => {
      isContinued = true;
      asked.end(body);
    });
    asked.flushHeaders();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    asked.destroy();
    return [isContinued, response.statusCode];
  };
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  for (const [path, body, status] of [
    ['/mcp', ping, 200],
    ['/v1/threads', '{}', 201],
  ] as const) {
    expect([path, ...(await ask(path, 'a-key', body))]).toEqual([path, true, status]);
    expect([path, ...(await ask(path, 'no-key', body))]).toEqual([path, false, 401]);
  }
});

test('a body in another charset than UTF-8 is refused', async () => {
  const { call } = await openGateway();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const statusOf = async (path: string, charset: string) =>
    (await call('POST', path, { body, headers: { 'content-type': `application/json; charset=${charset}` } }))
      .status;
  for (const charset of ['utf-16', '"utf-16"', 'utf-88'])
    expect([await statusOf('/mcp', charset), await statusOf('/v1/threads', charset)]).toEqual([415, 415]);
  for (const charset of ['utf-8', '"UTF-8"']) expect(await statusOf('/mcp', charset)).toBe(200);
});
