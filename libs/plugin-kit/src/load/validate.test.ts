import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { validatePluginExport } from './validate.ts';

const path = './plugins/sample.ts';
const tool = { name: 'read', description: 'Reads.', schema: {}, handler: () => 'x' };
const plugin = { name: 'sample', version: '1.0.0', register: () => ({}) };
const errorsOf = (moduleExports: unknown) => {
  const validation = validatePluginExport(moduleExports, path);
  return validation.valid ? [] : validation.errors;
};
const errorsOfTool = (change: object) =>
  errorsOf({ plugin: { ...plugin, tools: [tool, { ...tool, name: 'b', ...change }] } });

describe('accepts', () => {
  it.each([
    ['a plugin without tools', plugin],
    ['an empty list of tools', { ...plugin, tools: [] }],
    [
      'tools, start, stop and unknown fields',
      { ...plugin, tools: [tool], start() {}, async stop() {}, commands: [], other: 1 },
    ],
    ['the longest names', { ...plugin, name: 'a'.repeat(32), tools: [{ ...tool, name: 'B'.repeat(64) }] }],
    [
      'every optional field of a tool',
      {
        ...plugin,
        tools: [
          {
            ...tool,
            title: 'T',
            outputSchema: { type: 'object' },
            annotations: {},
            timeoutMs: 5,
            scope: 'tools',
            idempotent: true,
          },
        ],
      },
    ],
  ])('%s', (_what, exported) => {
    expect(validatePluginExport({ plugin: exported }, path)).toEqual({ valid: true, plugin: exported });
  });

  it('accepts the export plugin or default, and prefers plugin', () => {
    expect(validatePluginExport({ default: plugin }, path)).toEqual({ valid: true, plugin });
    const validation = validatePluginExport({ default: { name: 'Other' }, plugin }, path);
    expect(validation).toEqual({ valid: true, plugin });
  });

  it('returns the same object and does not call register', () => {
    const register = () => {
      throw new Error('called');
    };
    const exported = { ...plugin, register };
    const validation = validatePluginExport({ plugin: exported }, path);
    expect(validation.valid && validation.plugin).toBe(exported);
  });

  it('accepts every common style of name', () => {
    for (const name of ['MyPlugin', 'my_plugin', 'my-plugin-2', 'x', 'a'.repeat(64), 'trailing_'])
      expect(errorsOf({ plugin: { ...plugin, name, tools: [] } })).toEqual([]);
  });

  it('accepts the longest qualified name that model APIs allow', () => {
    const named = (length: number) => ({
      plugin: { ...plugin, name: 'p'.repeat(60), tools: [{ ...tool, name: 't'.repeat(length - 62) }] },
    });
    expect(`mcp__harness__${'x'.repeat(114)}`).toHaveLength(128);
    expect(errorsOf(named(114))).toEqual([]);
    const [error, ...others] = errorsOf(named(115));
    expect([error, others]).toEqual([
      expect.stringContaining('must be at most 114 characters and has 115'),
      [],
    ]);
  });

  it.each([
    ['module.exports = plugin', { default: plugin }],
    ['module.exports = {default: plugin}', { default: { default: plugin } }],
    ['module.exports = {plugin}', { default: { plugin } }],
    [
      'exports.default = plugin, compiled',
      { __esModule: true, default: { __esModule: true, default: plugin } },
    ],
  ])('what Node imports of a CommonJS module: %s', (_source, moduleExports) => {
    const validation = validatePluginExport(moduleExports, path);
    expect(validation).toMatchObject({ valid: true });
    expect(validation.valid && validation.plugin).toBe(plugin);
  });

  it('accepts two tools with the same $id', () => {
    const schema = { $id: 'https://example.com/x', type: 'object' };
    expect(
      errorsOf({
        plugin: {
          ...plugin,
          tools: [
            { ...tool, schema },
            { ...tool, name: 'b', schema },
          ],
        },
      }),
    ).toEqual([]);
  });
});

describe('refuses', () => {
  it.each([[null], [undefined], ['text'], [{}], [{ plugin: null }], [{ default: 5 }], [{ plugin: [] }]])(
    'a module that exports %j',
    (moduleExports) => {
      expect(errorsOf(moduleExports)).toEqual([
        `${path}: export: must be a plugin object, exported as "plugin" or "default"`,
      ]);
    },
  );

  it.each([
    ['name', { name: '1st' }],
    ['name', { name: 'a b' }],
    ['name', { name: 'a__b' }],
    ['name', { name: 'a'.repeat(65) }],
    ['name', { name: undefined }],
    ['version', { version: ' ' }],
    ['version', { version: 1 }],
    ['register', { register: {} }],
    ['start', { start: 'now' }],
    ['stop', { stop: null }],
    ['tools', { tools: {} }],
    ['tools', { tools: null }],
    ['commands', { commands: {} }],
    ['commands[0]', { commands: ['tea'] }],
  ])('the field %s in %j', (field, change) => {
    const errors = errorsOf({ plugin: { ...plugin, ...change } });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(`${path}: ${field}: must be`);
  });

  it.each([
    ['name', { name: '' }],
    ['name', { name: 'a b' }],
    ['name', { name: 'a'.repeat(65) }],
    ['name', { name: 'read' }],
    ['description', { description: '  ' }],
    ['description', { description: undefined }],
    ['schema', { schema: undefined }],
    ['schema', { schema: true }],
    ['schema', { schema: [] }],
    ['schema', { schema: z.object({}) }],
    ['schema', { schema: { type: 'string' } }],
    ['schema', { schema: { type: ['object', 'null'] } }],
    ['schema', { schema: { type: 'object', properties: { a: { typo: 1 } } } }],
    ['schema', { schema: { $ref: '#/$defs/missing' } }],
    ['handler', { handler: undefined }],
    ['handler', { handler: 'function' }],
    ['title', { title: '' }],
    ['outputSchema', { outputSchema: { type: 'array' } }],
    ['annotations', { annotations: [] }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: Number.POSITIVE_INFINITY }],
    ['scope', { scope: 5 }],
    ['idempotent', { idempotent: 'yes' }],
  ])('the field %s of a tool: %j', (field, change) => {
    const errors = errorsOfTool(change);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(`${path}: tools[1].${field}: `);
  });

  it.each([
    ['name', { name: 'Tea' }],
    ['name', { name: '/tea' }],
    ['name', { name: 'x'.repeat(65) }],
    ['name', { name: 'milk' }],
    ['description', { description: undefined }],
    ['description', { description: 'two\nlines' }],
    ['argumentHint', { argumentHint: 5 }],
    ['execute', { execute: undefined }],
  ])('the field %s of a command in %j', (field, change) => {
    const tea = { name: 'tea', description: 'Makes tea', execute: () => 'tea' };
    const commands = [
      { ...tea, name: 'milk' },
      { ...tea, ...change },
    ];
    expect(errorsOf({ plugin: { ...plugin, commands: [tea] } })).toEqual([]);
    const errors = errorsOf({ plugin: { ...plugin, commands } });
    expect(errors).toEqual([expect.stringContaining(`${path}: commands[1].${field}: `)]);
  });

  it('a schema with a circular object reference', () => {
    const schema: Record<string, unknown> = { type: 'object' };
    schema.properties = { a: schema };
    expect(errorsOfTool({ schema })[0]).toContain('tools[1].schema: must compile');
  });

  it('reports all problems at once', () => {
    const broken = { name: '!', description: '', schema: null, handler: 1 };
    const errors = errorsOf({ plugin: { name: 5, version: '', tools: [broken, 'no tool', tool, tool] } });
    const fields = errors.map((error) => error.split(': ')[1]);
    expect(fields).toEqual([
      'name',
      'version',
      'register',
      'tools[0].name',
      'tools[0].description',
      'tools[0].schema',
      'tools[0].handler',
      'tools[1]',
      'tools[3].name',
    ]);
    expect(errors.every((error) => error.startsWith(`${path}: `))).toBe(true);
    expect(errors.at(-1)).toContain('"read" is already used by tools[2]');
  });
});

describe('never throws', () => {
  it('for any exported value', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        validatePluginExport(value, path);
        validatePluginExport({ plugin: value }, path);
        validatePluginExport({ plugin: { ...plugin, tools: value } }, path);
        validatePluginExport({ plugin: { ...plugin, tools: [value, { ...tool, schema: value }] } }, path);
      }),
      { numRuns: 50 },
    );
  });

  it('when a getter throws, and keeps the problems found before', () => {
    const trap = new Proxy(
      {},
      {
        get: () => {
          throw new Error('trap');
        },
      },
    );
    expect(errorsOf(trap)).toEqual([`${path}: export: could not be read: trap`]);
    const errors = errorsOf({ plugin: { ...plugin, version: 0, tools: [trap] } });
    expect(errors).toHaveLength(2);
    expect(errors[0]).toContain('version');
  });
});

describe('resources, templates and prompts', () => {
  const get = (): string => 'b';
  const served = {
    resources: [{ uri: 'note://a', name: 'A', read: () => 'a' }],
    resourceTemplates: [
      { uriTemplate: 'note://{name}', name: 'Notes', read: () => 'a', complete: { name: () => [] } },
    ],
    prompts: [{ name: 'ask', arguments: [{ name: 'topic', required: true }], get: () => 'a' }],
  };

  it('are valid when they follow the contract', () => {
    expect(errorsOf({ plugin: { ...plugin, ...served } })).toEqual([]);
  });

  it.each([
    ['resources', null, 'resources[1]: must be an object with uri, name and read'],
    [
      'resources',
      { ...served.resources[0], uri: 'a' },
      'resources[1].uri: must be an absolute URI (resource "a")',
    ],
    ['resources', served.resources[0], 'resources[1].uri: "note://a" is already used by resources[0]'],
    [
      'resources',
      { uri: 'note://b', name: 'b' },
      'resources[1].read: must be a function (resource "note://b")',
    ],
    [
      'resourceTemplates',
      { ...served.resourceTemplates[0], uriTemplate: 'w://{?q}' },
      'resourceTemplates[1].uriTemplate: the template "w://{?q}" has an expression other than',
    ],
    [
      'resourceTemplates',
      { ...served.resourceTemplates[0], uriTemplate: 'w://{q}', complete: { q: 1 } },
      'resourceTemplates[1].complete: must be a function',
    ],
    ['prompts', null, 'prompts[1]: must be an object with name and get'],
    ['prompts', { name: 'b', arguments: [{}], get }, 'prompts[1].arguments: must be an array of objects'],
    [
      'prompts',
      { name: 'b', description: 'a\u200bb', get },
      'prompts[1].description: has an invisible character',
    ],
  ])('reports an invalid item of %s: %j', (list, part, problem) => {
    const parts = [...served[list as keyof typeof served], part];
    const errors = errorsOf({ plugin: { ...plugin, ...served, [list]: parts } });
    expect(errors).toEqual([expect.stringContaining(`${path}: ${problem}`)]);
  });

  it.each(['resources', 'resourceTemplates', 'prompts'])('%s must be a list', (list) => {
    expect(errorsOf({ plugin: { ...plugin, [list]: {} } })).toEqual([`${path}: ${list}: must be an array`]);
  });
});
