import { definePlugin } from '@harness/plugin-kit';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, type Gateway, openGateway, probe } from '../fixture.ts';
import { beginSession, modernCaller } from '../mcp-wire.ts';
import { openRun } from '../open-run.ts';

interface Called {
  content: { text?: string }[];
  isError?: boolean;
}

interface AnyClient {
  era: string;
  list(): Promise<{ name: string; inputSchema: object }[]>;
  call(name: string, args: object, meta?: Record<string, unknown>): Promise<Called>;
  progressOf(name: string): Promise<unknown[]>;
}

async function connectLegacy(gateway: Gateway, headers: Record<string, string> = {}): Promise<AnyClient> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', gateway.url), {
    requestInit: { headers },
  });
  await client.connect(transport as Transport);
  onTestFinished(() => client.close());
  return {
    era: '2025',
    list: async () => (await client.listTools()).tools,
    call: async (name, args, _meta) =>
      (await client.callTool({ name, arguments: { ...args }, ...(_meta && { _meta }) })) as Called,
    async progressOf(name) {
      const seen: unknown[] = [];
      const options = { onprogress: (progress: unknown) => void seen.push(progress) };
      await client.callTool({ name, arguments: {} }, CallToolResultSchema, options);
      return seen;
    },
  };
}

async function connectModern(gateway: Gateway, headers: Record<string, string> = {}): Promise<AnyClient> {
  const client = new ModernClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new ModernTransport(new URL('/mcp', gateway.url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return {
    era: '2026',
    list: async () => (await client.listTools()).tools,
    call: async (name, args, _meta) =>
      (await client.callTool({ name, arguments: { ...args }, ...(_meta && { _meta }) })) as Called,
    async progressOf(name) {
      const seen: unknown[] = [];
      await client.callTool(
        { name, arguments: {} },
        { onprogress: (progress: unknown) => void seen.push(progress) },
      );
      return seen;
    },
  };
}

const text = (called: Called) => called.content.map((block) => block.text).join('');

test.each([
  ['2025', connectLegacy],
  ['2026', connectModern],
])('an official client of the %s era lists and calls', async (_era, connect) => {
  const gateway = await openGateway({ plugins: [probe] });
  const client = await connect(gateway);
  const tools = await client.list();
  expect(tools.map((tool) => tool.name)).toEqual([
    'probe__whoami',
    'probe__strict',
    'probe__steps',
    'probe__broken',
  ]);
  expect(tools[1]?.inputSchema).toEqual(probe.tools?.[1]?.schema);

  expect(text(await client.call('probe__strict', { n: 1 }))).toBe('ran');
  const bad = await client.call('probe__strict', { n: 1, list: [{ kind: 'c' }] });
  expect(bad.isError).toBe(true);
  expect(text(bad)).toContain('/list/0/kind');
  expect(await client.call('probe__broken', {})).toMatchObject({ isError: true });
  await expect(client.call('probe__nothing', {})).rejects.toThrow(/no tool "probe__nothing"/);
  expect(await client.progressOf('probe__steps')).toEqual([{ progress: 1, total: 2, message: 'half' }]);
});

test('the modern client uses 2026-07-28 in these tests', async () => {
  const gateway = await openGateway();
  const client = new ModernClient(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(new ModernTransport(new URL('/mcp', gateway.url)));
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools.map((tool) => tool.name)).toContain('delegation__delegate');
});

test.each([
  ['2025', connectLegacy],
  ['2026', connectModern],
])('a tool learns its thread from the token, in the %s era', async (_era, connect) => {
  const gateway = await openGateway({ plugins: [probe] });
  const open = async () => {
    const { turn, tokenOf } = await openRun(gateway);
    return { turn, client: await connect(gateway, bearer(await tokenOf({ tools: ['probe__whoami'] }))) };
  };
  const sessions = [await open(), await open()];
  const answers = await Promise.all(
    sessions.map(({ client }) =>
      client.call('probe__whoami', { threadId: 'mine' }, { 'claudecode/toolUseId': 'toolu_1' }),
    ),
  );
  expect(answers.map((answer) => JSON.parse(text(answer)))).toMatchObject(
    sessions.map(({ turn }) => ({ threadId: turn.hold.threadId, runId: turn.runId, toolUseId: 'toolu_1' })),
  );
  const [{ client, turn }] = sessions as [(typeof sessions)[0], ...typeof sessions];
  expect((await client.list()).map((tool) => tool.name)).toEqual(['probe__whoami']);
  await expect(client.call('probe__strict', { n: 1 })).rejects.toThrow(/not allowed/);
  await gateway.dispatch.lease.commit(turn, { status: 'success' });
  await expect(client.call('probe__whoami', {})).rejects.toThrow(); // no run is in progress
});

test('an outside caller may name a thread of its tenant, never a task', async () => {
  const gateway = await openGateway({ plugins: [probe] });
  const client = await connectModern(gateway);
  const { thread } = await gateway.dispatch.threads.create('default', {});
  const foreign = await gateway.dispatch.threads.create('other', {});
  const named = await client.call('probe__whoami', {}, { 'harness/threadId': thread.threadId });
  expect(JSON.parse(text(named))).toEqual({ input: {}, threadId: thread.threadId, tenant: 'default' });
  const call = client.call('probe__whoami', {}, { 'harness/threadId': foreign.thread.threadId });
  await expect(call).rejects.toThrow(/no thread/);
  const nowhere = JSON.parse(text(await client.call('probe__whoami', {})));
  await expect(gateway.dispatch.threads.get('default', nowhere.threadId)).rejects.toThrow(); // created only when needed
});

test('delegate from outside stores the task before it returns; checkin needs a task', async () => {
  const gateway = await openGateway();
  const client = await connectLegacy(gateway);
  const delegated = (await client.call('delegation__delegate', { prompt: 'count' })) as Called & {
    structuredContent: { message: string; taskId: string; threadId: string };
  };
  const { taskId, message } = delegated.structuredContent;
  expect(message).toContain('is delegated to a sub-agent');
  expect(await gateway.dispatch.tasks.get('default', taskId)).toMatchObject({
    status: 'working',
    prompt: 'count',
  });
  expect(await client.call('delegation__delegate', { prompt: ' \n' })).toMatchObject({ isError: true });
  const lost = await client.call('delegation__checkin', { message: 'hello' });
  expect(lost).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('not working on a delegated task') }],
  });
});

test('without a session GET is 405 and DELETE 400; batches and invalid messages are 4xx', async () => {
  const gateway = await openGateway();
  expect((await gateway.call('GET', '/mcp')).status).toBe(405);
  expect((await gateway.call('DELETE', '/mcp')).status).toBe(400);
  expect((await gateway.call('POST', '/mcp', { body: [] })).status).toBe(400);
  for (const body of [{}, 5, { jsonrpc: '2.0', method: 5 }]) {
    const { status } = await gateway.call('POST', '/mcp', { body: JSON.stringify(body) });
    expect([body, status >= 400 && status < 500]).toEqual([body, true]);
  }
});

test('a tool that must not run twice runs once per tool-use id, and a repeat gets the first result', async () => {
  const ran: unknown[] = [];
  const pay = definePlugin({
    name: 'bank',
    version: '1.0.0',
    tools: [
      {
        name: 'pay',
        description: 'Pays',
        schema: {},
        idempotent: false,
        handler: (_ctx, input) => `paid ${ran.push(input)}`,
      },
    ],
    register: () => ({}),
  });
  const gateway = await openGateway({ plugins: [pay] });
  const { threadId, epoch, tokenOf } = await openRun(gateway);
  const client = await connectModern(gateway, bearer(await tokenOf()));
  const use = (toolUseId: string) => client.call('bank__pay', {}, { 'claudecode/toolUseId': toolUseId });
  expect(text(await use('toolu_1'))).toBe('paid 1');
  expect(text(await use('toolu_1'))).toBe('paid 1');
  expect(text(await use('toolu_2'))).toBe('paid 2');
  // A call started by a gateway that died: its outcome is unknown.
  await gateway.dispatch.ledger.open({ threadId, epoch, toolUseId: 'toolu_3' });
  expect(await use('toolu_3')).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('Uncertain') }],
  });
  expect(ran).toHaveLength(2);
});

test('a body of unknown or excessive size is limited', async () => {
  const gateway = await openGateway({ plugins: [probe] });
  const whole = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'x'.repeat(300_000) },
  });
  expect((await gateway.call('POST', '/mcp', { body: whole })).status).toBe(413);
  const inPieces = async (text: string) => {
    const response = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: new Blob([text]).stream(),
      duplex: 'half',
    } as RequestInit);
    return response.status;
  };
  expect(await inPieces(whole)).toBe(413);
  expect(await inPieces('{"jsonrpc":"2.0","id":1,"method":"ping"}')).toBe(200);
});

test.each(['application/json', 'text/event-stream', 'application/json, text/event-stream'])(
  'a client that accepts %s gets every response completely, in both eras',
  async (accept) => {
    const { url } = await openGateway({ plugins: [probe] });
    const session = await beginSession(url, { headers: { accept } });
    const modern = modernCaller({ headers: { accept } });
    const answers = [
      await session.request(url, 'tools/list'),
      await modern.request(url, 'tools/list'),
      await session.call(url, 'probe__whoami'),
      await modern.call(url, 'probe__whoami'),
    ];
    const results = await Promise.all(answers.map(async (wire) => (await wire.message()).result));
    for (const { tools } of results.slice(0, 2)) expect(tools).toHaveLength(probe.tools?.length ?? 0);
    for (const { content } of results.slice(2)) expect(content).toMatchObject([{ type: 'text' }]);
  },
);
