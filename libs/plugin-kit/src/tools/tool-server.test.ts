import { AppError } from '@harness/contracts';
import { describe, expect, it, vi } from 'vitest';
import type { PluginTool, PluginToolMeta, ToolResult } from '../contract/contract.ts';
import { collectTools } from '../host/collect.ts';
import { createDetachedContext, silentLogger } from '../host/detached-context.ts';
import { createToolServer, type ToolServerDeps } from './tool-server.ts';

const meta = { threadId: 't1' };
const toolOf = (parts: Partial<PluginTool> = {}): PluginTool => ({
  name: 'tool',
  description: 'A tool.',
  schema: {},
  handler: () => 'done',
  ...parts,
});
const pluginOf = (name: string, ...tools: PluginTool[]) => ({
  name,
  version: '1',
  register: () => undefined,
  tools,
});
function serverOf(tools: PluginTool[], deps?: ToolServerDeps) {
  const server = createToolServer(collectTools([pluginOf('p', ...tools)]), deps);
  if (!server) throw new Error('no tools');
  return server;
}
const callTool = (parts: Partial<PluginTool>, input: unknown = {}) =>
  serverOf([toolOf(parts)]).call('p__tool', { input, meta });
const failure = (code: string, text = '') => ({
  isError: true,
  content: [{ type: 'text', text: expect.stringContaining(text) }],
  _meta: { 'harness/error': expect.objectContaining({ code }) },
});

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

describe('a failure of the tool is a result', () => {
  const throwing = (thrown: unknown) =>
    callTool({
      handler: () => {
        throw thrown;
      },
    });

  it('with the message of what was thrown, sync or not', async () => {
    expect(await throwing(new Error('disk full'))).toMatchObject(failure('tool_failed', 'disk full'));
    const handler = () => Promise.reject(new AppError('too_many_children', 'Five at most.'));
    expect(await callTool({ handler })).toMatchObject(failure('too_many_children', 'Five at most.'));
  });

  it('and is logged with its cause', async () => {
    const warn = vi.fn();
    const cause = new Error('disk full');
    const server = serverOf([toolOf({ handler: () => Promise.reject(cause) })], {
      logger: { ...silentLogger, warn },
    });
    await server.call('p__tool', { input: {}, meta });
    expect(warn).toHaveBeenCalledWith(
      expect.objectContaining({ err: cause, tool: 'p__tool' }),
      expect.any(String),
    );
  });
});

describe('time', () => {
  const untilAborted = (signal: AbortSignal) =>
    new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));

  it('a tool that exceeds its limit is stopped: a result, an aborted signal, no more progress', async () => {
    const progress = vi.fn();
    let reason: Promise<unknown> | undefined;
    let late: (() => void) | undefined;
    const handler: PluginTool['handler'] = (_ctx, _input, { signal, progress: step }) => {
      step(1, 2, 'half');
      late = () => step(2, 2);
      reason = untilAborted(signal);
      return new Promise<string>(() => {});
    };
    const server = serverOf([toolOf({ handler, timeoutMs: 10 })]);
    expect(await server.call('p__tool', { input: {}, meta: { ...meta, progress } })).toMatchObject(
      failure('tool_timeout', '10 ms'),
    );
    expect(await reason).toMatchObject({ code: 'tool_timeout' });
    late?.();
    expect(progress).toHaveBeenCalledExactlyOnceWith(1, 2, 'half');
  });

  it('the default limit comes from the deps', async () => {
    const handler = () => new Promise<string>(() => {});
    const server = serverOf([toolOf({ handler })], { defaultTimeoutMs: 10 });
    expect(await server.call('p__tool', { input: {}, meta })).toMatchObject(failure('tool_timeout'));
  });

  it('the caller’s signal ends the call, even if the handler ignores it', async () => {
    const caller = new AbortController();
    const handler = vi.fn(() => new Promise<string>(() => caller.abort()));
    const server = serverOf([toolOf({ handler })]);
    const call = () => server.call('p__tool', { input: {}, meta: { ...meta, signal: caller.signal } });
    expect(await call()).toMatchObject(failure('turn_cancelled'));
    expect(await call()).toMatchObject(failure('turn_cancelled'));
    expect(handler).toHaveBeenCalledOnce();
  });
});

describe('where a call comes from', () => {
  it('concurrent calls each see their own thread', async () => {
    const gate = Promise.withResolvers<void>();
    const handler: PluginTool['handler'] = async (_ctx, _input, { threadId, taskId }) => {
      await gate.promise;
      return `${threadId}/${taskId ?? 'none'}`;
    };
    const server = serverOf([toolOf({ handler })]);
    const calls = ['t1', 't2', 't3'].map((threadId) =>
      server.call('p__tool', {
        input: {},
        meta: { threadId, ...(threadId === 't2' ? { taskId: 'task_2' } : {}) },
      }),
    );
    gate.resolve();
    expect(await Promise.all(calls)).toMatchObject(
      ['t1/none', 't2/task_2', 't3/none'].map((text) => ({ content: [{ text }] })),
    );
  });

  it('adds defaults to a minimal meta', async () => {
    let seen: PluginToolMeta | undefined;
    await callTool({
      handler: async (ctx, _input, given) => {
        seen = given;
        given.progress(1);
        await ctx.store.set('k', 1);
        return String(await ctx.store.get('k'));
      },
    });
    expect(seen).toMatchObject({ threadId: 't1', principal: { scopes: [] } });
    expect(seen?.signal.aborted).toBe(false);
    expect(seen).not.toHaveProperty('taskId');
  });

  it('gives each plugin its own context', async () => {
    const handler: PluginTool['handler'] = (ctx) => String(ctx.config.name);
    const contextOf = (name: string) => createDetachedContext({ config: { name } });
    const collected = collectTools([
      pluginOf('one', toolOf({ handler })),
      pluginOf('two', toolOf({ handler })),
    ]);
    const server = createToolServer(collected, { contextOf });
    expect(await server?.call('two__tool', { input: {}, meta })).toEqual({
      content: [{ type: 'text', text: 'two' }],
    });
  });

  it('a call of an unknown tool rejects', async () => {
    const call = serverOf([toolOf()]).call('p__other', { input: {}, meta });
    await expect(call).rejects.toMatchObject({ code: 'tool_not_found' });
  });
});
