import { randomUUID } from 'node:crypto';
import { definePlugin, needInput } from '@harness/plugin-kit';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, type Gateway, keyFor, openGateway, probe } from '../fixture.ts';

const namesAt = async (gateway: Gateway, headers = {}) =>
  ((await gateway.call('GET', '/v1/tools', { headers })).body.tools as { name: string }[]).map(
    ({ name }) => name,
  );

const other = definePlugin({
  name: 'other',
  version: '1.0.0',
  tools: [{ name: 'hello', description: 'Says hello', schema: {}, handler: () => 'hello' }],
  register: () => ({}),
});

test('a plugin is disabled at every gateway; running calls complete; it can be enabled again', async () => {
  const tag = randomUUID();
  let arrived = () => {};
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const slow = definePlugin({
    name: 'slow',
    version: '1.0.0',
    tools: [
      {
        name: 'wait',
        description: 'Waits',
        schema: {},
        async handler() {
          arrived();
          await held;
          return 'ended';
        },
      },
    ],
    register: () => ({}),
  });
  const [one, two] = [
    await openGateway({ tag, plugins: [slow, other] }),
    await openGateway({ tag, plugins: [slow, other] }),
  ];
  const underWay = two.call('POST', '/v1/tools/slow__wait', { body: {} });
  await reached;
  const patched = await one.call('PATCH', '/v1/plugins/slow', { body: { enabled: false } });
  expect(patched).toMatchObject({
    status: 200,
    body: { name: 'slow', enabled: false, tools: ['slow__wait'] },
  });
  for (const gateway of [one, two]) await expect.poll(() => namesAt(gateway)).toEqual(['other__hello']);
  expect((await two.call('POST', '/v1/tools/slow__wait', { body: {} })).body.error.code).toBe(
    'tool_not_found',
  );
  expect((await two.call('GET', '/v1/plugins')).body.plugins).toMatchObject([
    { name: 'slow', enabled: false },
    { name: 'other', enabled: true },
  ]);
  release();
  expect((await underWay).body.content).toEqual([{ type: 'text', text: 'ended' }]);
  // A gateway that starts later knows it, too.
  expect(await namesAt(await openGateway({ tag, plugins: [slow, other] }))).toEqual(['other__hello']);
  await two.call('PATCH', '/v1/plugins/slow', { body: { enabled: true } });
  await expect.poll(() => namesAt(one)).toContain('slow__wait');
});

test('a burst of changes reaches a client as one notification', async () => {
  const gateway = await openGateway({ plugins: [other, probe] });
  const client = new Client({ name: 'test', version: '1' });
  const lists: string[][] = [];
  let hear = () => {};
  const notified = new Promise<void>((resolve) => {
    hear = resolve;
  });
  client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
    lists.push((await client.listTools()).tools.map(({ name }) => name));
    hear();
  });
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', gateway.url));
  const listening = new Promise<void>((resolve) => {
    gateway.dispatch.replicas.onSignal(({ kind }) => kind === 'stream_opened' && resolve());
  });
  await client.connect(transport as Transport);
  onTestFinished(() => client.close());
  await listening;
  // Concurrently: in sequence they may take longer than a burst on a busy machine.
  await Promise.all(
    ['other', 'probe'].map((name) =>
      gateway.call('PATCH', `/v1/plugins/${name}`, { body: { enabled: false } }),
    ),
  );
  await notified;
  expect(lists).toEqual([[]]);
});

test('an unknown plugin is 404, a key without the scope admin 403', async () => {
  const gateway = await openGateway({
    plugins: [other],
    keys: [keyFor('user', { scopes: ['tools'] }), keyFor('root')],
  });
  const patch = (name: string, key: string) =>
    gateway.call('PATCH', `/v1/plugins/${name}`, { body: { enabled: false }, headers: bearer(key) });
  expect(await patch('nothing', 'root')).toMatchObject({
    status: 404,
    body: { error: { code: 'plugin_not_found' } },
  });
  expect((await patch('other', 'user')).status).toBe(403);
  expect(await namesAt(gateway, bearer('user'))).toEqual(['other__hello']);
});

test('a key with an allow-list sees and calls only those tools, directly and through another tool', async () => {
  const through = definePlugin({
    name: 'through',
    version: '1.0.0',
    tools: [
      {
        name: 'call',
        description: 'Calls another tool',
        schema: {},
        handler: async ({ tools }, { name }) => JSON.stringify(await tools.call(String(name), {})),
      },
    ],
    register: () => ({}),
  });
  const gateway = await openGateway({
    plugins: [probe, other, through],
    keys: [keyFor('limited', { tools: ['probe__*', 'through__call'], tenant: 'acme' })],
  });
  const key = bearer('limited');
  expect(await namesAt(gateway, key)).toEqual([
    'probe__whoami',
    'probe__strict',
    'probe__steps',
    'probe__broken',
    'through__call',
  ]);
  const forbidden = await gateway.call('POST', '/v1/tools/other__hello', { body: {}, headers: key });
  expect(forbidden).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
  const call = async (name: string) =>
    (await gateway.call('POST', '/v1/tools/through__call', { body: { arguments: { name } }, headers: key }))
      .body;
  expect(await call('other__hello')).toMatchObject({
    isError: true,
    content: [{ text: 'The tool "other__hello" is not allowed here.' }],
  });
  // The nested call has the same caller.
  expect((await call('probe__whoami')).content[0].text).toContain('\\"tenant\\":\\"acme\\"');
});

test('REST callers cannot be asked: a tool that needs input names the missing capability', async () => {
  const asking = definePlugin({
    name: 'asking',
    version: '1.0.0',
    tools: [
      {
        name: 'name',
        description: 'Asks',
        schema: {},
        handler: () => needInput({ name: { method: 'elicitation/create', params: { message: 'Who?' } } }),
      },
    ],
    register: () => ({}),
  });
  const gateway = await openGateway({ plugins: [asking] });
  expect(await gateway.call('POST', '/v1/tools/asking__name', { body: {} })).toMatchObject({
    status: 400,
    body: { error: { code: 'capability_missing', details: { requiredCapabilities: { elicitation: {} } } } },
  });
});

test('unknown, forbidden and failed are three distinct codes at every endpoint', async () => {
  const gateway = await openGateway({
    plugins: [probe, other],
    keys: [keyFor('limited', { tools: ['probe__*'] })],
  });
  const key = bearer('limited');
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const overMcp = async (name: string, era: '2025' | '2026') => {
    const params = { name, arguments: {}, ...(era === '2026' ? { _meta: envelope } : {}) };
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name };
    const { body } = await gateway.call('POST', '/mcp', {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      headers: {
        ...key,
        accept: 'application/json, text/event-stream',
        ...(era === '2026' ? modern : {}),
      },
    });
    return body.error?.data.code ?? body.result._meta['harness/error'].code;
  };
  const overRest = async (name: string) => {
    const { body } = await gateway.call('POST', `/v1/tools/${name}`, { body: {}, headers: key });
    return body.error?.code ?? (body.isError ? 'tool_failed' : undefined);
  };
  const codes = { probe__nothing: 'tool_not_found', other__hello: 'forbidden', probe__broken: 'tool_failed' };
  for (const [name, code] of Object.entries(codes)) {
    const codes = [await overRest(name), await overMcp(name, '2025'), await overMcp(name, '2026')];
    expect([name, ...codes]).toEqual([name, code, code, code]);
  }
});
