/** Finding and calling tools among thousands. */
import { definePlugin } from '@harness/plugin-kit';
import { builtInPlugins } from '@harness/plugins';
import { expect, test } from 'vitest';
import { bearer, keyFor, openGateway, probe } from '../fixture.ts';
import { modernCaller } from '../mcp-wire.ts';
import { openRun } from '../open-run.ts';

/** A plugin with many tools: each verb for each thing. */
const verbs = [
  'create',
  'list',
  'delete',
  'archive',
  'rename',
  'export',
  'share',
  'restore',
  'count',
  'watch',
];
const things = Array.from({ length: 60 }, (_, i) => `thing${i}`);
const many = definePlugin({
  name: 'many',
  version: '1',
  tools: things.flatMap((thing) =>
    verbs.map((verb) => ({
      name: `${verb}_${thing}`,
      description: `Can ${verb} a ${thing} of the user.`,
      schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      handler: (_ctx: unknown, { id }: { id?: unknown }) => `${verb} ${thing} ${id}`,
    })),
  ),
  register: () => undefined,
});
const plugins = [...builtInPlugins, probe, many];

const toolsOf = async (url: string, headers: Record<string, string>) => {
  const { result } = await (await modernCaller({ headers }).request(url, 'tools/list')).message();
  return (result.tools as { name: string }[]).map(({ name }) => name);
};

test('a session whose tools have too many names lists core tools, finds the others, and calls them with its rights', async () => {
  const gateway = await openGateway({ plugins });
  const { tokenOf } = await openRun(gateway);
  const headers = bearer(await tokenOf());
  const names = await toolsOf(gateway.url, headers);
  expect(names.slice(0, 2)).toEqual(['tools__search', 'tools__call']);
  expect(names).toContain('delegation__delegate');
  expect(names.length).toBeLessThan(25);
  const client = modernCaller({ headers });
  const call = async (name: string, args: object) =>
    (await (await client.call(gateway.url, name, { args })).message()) as {
      result: {
        content: { text: string }[];
        structuredContent: { tools: { name: string; inputSchema: object }[] };
      };
      error?: { message: string };
    };
  const found = await call('tools__search', { query: 'rename my thing17', limit: 3 });
  const { tools } = found.result.structuredContent;
  expect(tools).toHaveLength(3);
  expect(tools[0]).toMatchObject({ name: 'many__rename_thing17', inputSchema: { required: ['id'] } });
  const called = await call('tools__call', { name: 'many__rename_thing17', arguments: { id: '5' } });
  expect(called.result.content[0]?.text).toBe('rename thing17 5');
  const wrong = await call('tools__call', { name: 'many__rename_thing17', arguments: {} });
  expect(wrong.result).toMatchObject({ isError: true });
  expect((await call('tools__call', { name: 'none' })).error?.message).toContain('no tool "none"');

  const limited = bearer(await tokenOf({ tools: ['many__count_*', 'probe__*'] }));
  const few = await toolsOf(gateway.url, limited);
  expect(few).toHaveLength(64); // not that many: all are listed
  const searching = modernCaller({ headers: limited });
  const hidden = await searching.call(gateway.url, 'tools__call', { args: { name: 'many__rename_thing17' } });
  expect((await hidden.message()).error.message).toContain('not allowed');
  const only = await searching.call(gateway.url, 'tools__search', { args: { query: 'rename thing17' } });
  for (const { name } of (await only.message()).result.structuredContent.tools)
    expect(name).toMatch(/^many__count_|^probe__/);
});

test('an outside client lists all tools, unless it asks to search, by its address or its key', async () => {
  const keys = [keyFor('a-plain-key'), keyFor('a-searching-key', { search: true })];
  const gateway = await openGateway({ plugins, keys });
  expect((await toolsOf(gateway.url, bearer('a-plain-key'))).length).toBeGreaterThan(600);
  expect((await toolsOf(gateway.url, bearer('a-searching-key'))).slice(0, 2)).toEqual([
    'tools__search',
    'tools__call',
  ]);
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const asking = await gateway.call('POST', '/mcp?search=1', {
    body,
    headers: { ...bearer('a-plain-key'), accept: 'application/json', 'mcp-protocol-version': '2025-06-18' },
  });
  expect(asking.body.result.tools[0].name).toBe('tools__search');
});

test('found tools follow the offered ones', async () => {
  const gateway = await openGateway({ plugins });
  const search = async () =>
    (
      await gateway.call('POST', '/v1/tools/tools__search', {
        body: { arguments: { query: 'archive thing3' } },
      })
    ).body.structuredContent.tools.map(({ name }: { name: string }) => name);
  expect(await search()).toContain('many__archive_thing3');
  await gateway.call('PATCH', '/v1/plugins/many', { body: { enabled: false } });
  await expect.poll(search).not.toContain('many__archive_thing3');
});

test.for([
  ['tools__search', { query: 5 }, '/query: must be string'],
  ['tools__search', { query: 'thing', limit: 'abc' }, '/limit: must be integer'],
  ['tools__search', { query: 'thing', limit: 0 }, '/limit: must be >= 1'],
  ['tools__search', { query: 'thing', more: 1 }, 'more'],
  ['tools__call', { name: ['probe__whoami'] }, '/name: must be string'],
  ['tools__call', { name: 'probe__whoami', arguments: 'x' }, '/arguments: must be object'],
] as const)(
  'the input of the two tools is checked like that of all others: %s %j',
  async ([name, args, words]) => {
    const gateway = await openGateway({ plugins });
    const rest = await gateway.call('POST', `/v1/tools/${name}`, { body: { arguments: args } });
    expect(rest).toMatchObject({ status: 422, body: { error: { code: 'invalid_tool_input' } } });
    const { result } = await (
      await modernCaller().request(gateway.url, 'tools/call', { params: { name, arguments: args } })
    ).message();
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(words) }],
      _meta: { 'harness/error': { code: 'invalid_tool_input' } },
    });
  },
);
