import { describe, expect, it, vi } from 'vitest';
import { callTool, failure, meta, pluginOf, serverOf, toolOf } from '../../test/tool-server-fixture.ts';
import type { PluginTool, ToolResult } from '../contract/contract.ts';
import { collectTools } from '../host/collect.ts';
import { silentLogger } from '../host/detached-context.ts';
import { createToolServer } from './tool-server.ts';

it('is null when there is no tool', () => {
  expect(createToolServer([])).toBeNull();
  expect(createToolServer(collectTools([{ name: 'old', version: '1', register: () => ({}) }]))).toBeNull();
});

it('refuses two tools with the same name', () => {
  expect(() => serverOf([toolOf(), toolOf()])).toThrow('p__tool');
});

describe('the list', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { a: { $ref: '#/$defs/a' } },
    $defs: { a: {} },
  };
  const collected = collectTools([
    pluginOf(
      'one',
      toolOf({ name: 'a', schema, title: 'A', idempotent: true }),
      toolOf({ name: 'b', scope: 'bus' }),
    ),
    pluginOf('two', toolOf({ name: 'a', annotations: { readOnlyHint: true } })),
  ]);
  const server = createToolServer(collected);

  it('shows qualified names in plugin order, the schema unchanged, {} as any object', () => {
    expect(server?.list()).toEqual([
      {
        name: 'one__a',
        title: 'A',
        description: 'A tool.',
        inputSchema: schema,
        annotations: { idempotentHint: true },
      },
      { name: 'one__b', description: 'A tool.', inputSchema: { type: 'object' } },
      {
        name: 'two__a',
        description: 'A tool.',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
      },
    ]);
  });

  it('is computed once, deeply frozen, and independent of the plugin’s objects', () => {
    const own = { type: 'object', properties: { a: { type: 'string' } } };
    const list = serverOf([toolOf({ schema: own })]).list();
    own.properties.a.type = 'number';
    expect(list[0]?.inputSchema).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
    expect(
      Object.isFrozen(list) && Object.isFrozen(Reflect.get(list[0]?.inputSchema ?? {}, 'properties')),
    ).toBe(true);
    expect(server?.list()).toBe(server?.list());
  });

  it('shows and calls only what the view allows', async () => {
    const names = (view: object) => server?.list(view).map(({ name }) => name);
    expect(names({ tools: ['two__a', 'unknown__x'] })).toEqual(['two__a']);
    expect(names({ tools: [] })).toEqual([]);
    expect([['two__a', 'x'], ['two__a x']].map((tools) => names({ tools }))).toEqual([['two__a'], []]);
    expect(names({ scopes: ['tools'] })).toEqual(['one__a', 'two__a']);
    expect(names({ scopes: ['tools', 'bus'] })).toHaveLength(3);
    await expect(
      server?.call('one__a', { input: {}, meta, view: { tools: ['two__a'] } }),
    ).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(server?.call('one__b', { input: {}, meta, view: { scopes: [] } })).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(
      server?.call('two__a', { input: {}, meta, view: { tools: ['two__a'], scopes: [] } }),
    ).resolves.toBeDefined();
  });
});

describe('input', () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' }, path: { type: 'string' } },
    required: ['path'],
  };

  it.each([
    ['a missing property', { n: 1 }, '/path: missing required property "path"'],
    ['a wrong type, uncoerced', { path: 'x', n: '5' }, '/n: must be number'],
    ['no object', null, '(input): must be object'],
    ['a list', [], '(input): must be object'],
  ])('%s never reaches the handler', async (_what, input, text) => {
    const handler = vi.fn(() => 'x');
    const result = await callTool({ schema, handler }, input);
    expect(result).toMatchObject(failure('invalid_tool_input', text));
    expect(result).toMatchObject({
      _meta: { 'harness/error': { details: [{ instancePath: expect.any(String) }] } },
    });
    expect(handler).not.toHaveBeenCalled();
  });

  it('that is refused is logged with its tool and fields, never with its values', async () => {
    const info = vi.fn();
    const server = serverOf([toolOf({ schema })], { logger: { ...silentLogger, info } });
    await server.call('p__tool', { input: { path: 5, n: 'a secret' }, meta });
    expect(info.mock.calls).toEqual([
      [{ tool: 'p__tool', threadId: meta.threadId, fields: ['/n', '/path'] }, 'tool input refused'],
    ]);
  });

  it('{} means any object, and nothing else', async () => {
    const handler = vi.fn(() => 'x');
    await callTool({ handler }, { any: [1] });
    await callTool({ handler });
    expect(handler.mock.calls.map((call: unknown[]) => call[1])).toEqual([{ any: [1] }, {}]);
    expect(await callTool({ handler }, 'text')).toMatchObject(failure('invalid_tool_input'));
  });

  it('a schema without a type still takes objects alone', async () => {
    expect(await callTool({ schema: { properties: {} } }, 5)).toMatchObject(failure('invalid_tool_input'));
  });

  it('is checked by its own plugin’s schema when two plugins share an $id', async () => {
    const schemaOf = (type: string) => ({
      $id: 'https://example.com/s',
      type: 'object',
      properties: { a: { type } },
    });
    const server = createToolServer(
      collectTools([
        pluginOf(
          'one',
          toolOf({ schema: schemaOf('number') }),
          toolOf({ name: 'again', schema: schemaOf('null') }),
        ),
        pluginOf('two', toolOf({ schema: schemaOf('string') })),
      ]),
    );
    expect(await server?.call('one__tool', { input: { a: 1 }, meta })).not.toHaveProperty('isError');
    expect(await server?.call('one__again', { input: { a: null }, meta })).not.toHaveProperty('isError');
    expect(await server?.call('two__tool', { input: { a: 'x' }, meta })).not.toHaveProperty('isError');
    expect(await server?.call('two__tool', { input: { a: 1 }, meta })).toHaveProperty('isError', true);
  });
});

describe('the result', () => {
  it.each([[undefined], [null], [5], [{ content: 'text' }]])('%j is none', async (returned) => {
    const handler = (() => returned) as unknown as PluginTool['handler'];
    expect(await callTool({ handler })).toMatchObject(
      failure('tool_failed', 'neither a string nor a tool result'),
    );
  });

  it('must match the output schema, unless it is a failure', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const returning = (result: ToolResult) => callTool({ outputSchema, handler: () => result });
    expect(await returning({ content: [], structuredContent: { n: 1 } })).not.toHaveProperty('isError');
    expect(await returning({ content: [], structuredContent: {} })).toMatchObject(
      failure('tool_failed', '/n'),
    );
    expect(await returning({ content: [] })).toMatchObject(failure('tool_failed'));
    expect(await returning({ content: [], isError: true })).toEqual({ content: [], isError: true });
  });
});
