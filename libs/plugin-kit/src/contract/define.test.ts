import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { z } from 'zod';
import { collectTools } from '../host/collect.ts';
import { validatePluginExport } from '../load/validate.ts';
import { createToolServer } from '../tools/tool-server.ts';
import { definePlugin, defineTool } from './define.ts';

const pluginWith = (...tools: ReturnType<typeof defineTool>[]) =>
  definePlugin({ name: 'p', version: '1', register: () => undefined, tools });
const serverOf = (...tools: ReturnType<typeof defineTool>[]) => {
  const server = createToolServer(collectTools([pluginWith(...tools)]));
  if (!server) throw new Error('no tools');
  return server;
};

describe('defineTool with Zod', () => {
  const seen = vi.fn();
  const find = defineTool({
    name: 'find',
    description: 'Finds.',
    title: 'Find',
    input: z.strictObject({
      query: z.string().min(2),
      limit: z.int().default(10),
      tags: z.array(z.enum(['a', 'b'])).optional(),
      at: z.iso
        .datetime()
        .optional()
        .transform((text) => (text ? Date.parse(text) : undefined)),
    }),
    handler: (_ctx, input) => {
      expectTypeOf(input).toEqualTypeOf<{
        query: string;
        limit: number;
        tags?: ('a' | 'b')[] | undefined;
        at: number | undefined;
      }>();
      seen(input);
      return 'found';
    },
  });

  it('generates draft 2020-12 for the input side: a property with a default is not required', () => {
    expect(find.title).toBe('Find');
    expect(find.schema).toMatchObject({
      type: 'object',
      required: ['query'],
      additionalProperties: false,
      properties: { limit: { type: 'integer', default: 10 }, tags: { items: { enum: ['a', 'b'] } } },
    });
    expect(validatePluginExport({ plugin: pluginWith(find) }, 'x').valid).toBe(true);
  });

  it('passes the value that Zod parsed to the handler', async () => {
    await serverOf(find).call('p__find', {
      input: { query: 'xy', at: '1970-01-01T00:00:01Z' },
      meta: { threadId: 't1' },
    });
    expect(seen).toHaveBeenCalledExactlyOnceWith({ query: 'xy', limit: 10, at: 1000 });
  });

  it('refuses input that only Zod can refuse, before the handler runs', async () => {
    const handler = vi.fn(() => 'x');
    const input = z.object({ a: z.object({ even: z.number().refine((n) => n % 2 === 0, 'must be even') }) });
    const server = serverOf(defineTool({ name: 'even', description: 'x', input, handler }));
    const result = await server.call('p__even', { input: { a: { even: 3 } }, meta: { threadId: 't1' } });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('/a/even: must be even') }],
      _meta: { 'harness/error': { code: 'invalid_tool_input' } },
    });
    expect(handler).not.toHaveBeenCalled();
  });

  it('drops formats and patterns that only Zod can check, so that the schema compiles', async () => {
    const input = z.object({
      host: z.hostname().optional(),
      took: z.iso.duration(),
      icon: z.emoji(),
      id: z.cuid2(),
      url: z.url(),
      mail: z.email(),
      raw: z.base64(),
    });
    const tool = defineTool({ name: 't', description: 'x', input, handler: () => 'x' });
    expect(validatePluginExport({ plugin: pluginWith(tool) }, 'x')).toMatchObject({ valid: true });
    expect(tool.schema).toMatchObject({ properties: { url: { format: 'uri' }, mail: { format: 'email' } } });
    const good = { took: 'P1D', icon: '🙂', id: 'abc', url: 'https://a.b', mail: 'a@b.cd', raw: 'YQ==' };
    const call = (given: object) => serverOf(tool).call('p__t', { input: given, meta: { threadId: 't1' } });
    expect(await call(good)).not.toHaveProperty('isError');
    expect(await call({ ...good, icon: 'x' })).toMatchObject({ isError: true });
    expect(await call({ ...good, took: 'PT' })).toMatchObject({ isError: true });
  });

  it('an author’s own pattern with look-around is refused', () => {
    const input = z.object({ a: z.string().regex(/^(?=.*\d)/) });
    const tool = defineTool({ name: 't', description: 'x', input, handler: () => 'x' });
    expect(validatePluginExport({ plugin: pluginWith(tool) }, 'x')).toMatchObject({
      errors: [expect.stringContaining('look-around')],
    });
  });

  it('throws for a type without JSON Schema', () => {
    const input = z.object({ at: z.date() });
    expect(() => defineTool({ name: 't', description: 'x', input, handler: () => 'x' })).toThrow(/Date/);
  });
});

it('returns a plugin and a tool with plain JSON Schema unchanged', () => {
  const tool = { name: 't', description: 'x', schema: {}, handler: () => 'x' };
  expect(defineTool(tool)).toBe(tool);
  const plugin = { name: 'p', version: '1', register: () => ({}) };
  expect(definePlugin(plugin)).toBe(plugin);
});

it('an author may narrow the input to what the schema guarantees', () => {
  const tool = defineTool({
    name: 't',
    description: 'x',
    schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    handler: (_ctx, input: { path: string }) => input.path,
  });
  expect(tool.name).toBe('t');
});
