import { describe, expect, it } from 'vitest';
import type { JsonSchema } from '../contract/contract.ts';
import { readableErrors } from './readable-errors.ts';
import { createSchemaCompiler } from './schema.ts';

const compile = (schema: JsonSchema) => createSchemaCompiler().compile(schema);
const object = (properties: JsonSchema, rest: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...rest,
});
const nested = (
  levels: number,
  wrap: (inner: JsonSchema) => JsonSchema,
  inner: JsonSchema = {},
): JsonSchema => (levels === 0 ? inner : nested(levels - 1, wrap, wrap(inner)));
const listsAround = (inner: unknown) => list(32, () => 0).reduce((value) => [value], inner);
const list = (length: number, item: (index: number) => unknown) =>
  Array.from({ length }, (_, index) => item(index));

describe('refuses', () => {
  const cyclic: Record<string, unknown> = { type: 'object' };
  cyclic.default = cyclic;
  let deepest: JsonSchema = {};
  for (let level = 0; level < 100_000; level++) deepest = { items: deepest };
  const bombs: [what: string, schema: JsonSchema, reason: string][] = [
    [
      '65 KB, counted in bytes',
      object({ a: { description: '€'.repeat(22_000) } }),
      'larger than 65536 bytes',
    ],
    [
      'tens of thousands of branches',
      { anyOf: list(30_000, (n) => ({ const: n })) },
      'larger than 65536 bytes',
    ],
    ['short branches', { anyOf: list(501, () => ({})) }, 'more than 500 subschemas'],
    ['booleans as branches', { anyOf: list(501, () => true) }, 'more than 500 subschemas'],
    [
      'definitions',
      { $defs: Object.fromEntries(list(501, (n) => [n, {}]) as [string, object][]) },
      'more than 500',
    ],
    ['33 levels', nested(33, (items) => ({ items })), 'deeper than 32'],
    ['a deep value', { default: nested(200, (a) => ({ a })) }, 'deeper than 100 levels'],
    ['a depth of 1000', nested(1000, (a) => object({ a })), 'deeper than 100 levels'],
    ['a depth of 100 000', deepest, 'cannot be written as JSON'],
    ['a cycle', cyclic, 'cannot be written as JSON'],
    [
      'a remote $ref',
      object({ a: { $ref: 'https://example.com/x.json' } }),
      '$ref "https://example.com/x.json"',
    ],
    ['a file', object({ a: { $ref: 'file:///etc/passwd' } }), 'names no schema within'],
    ['a relative $ref', object({ a: { $ref: 'other.json#/x' } }), 'names no schema within'],
    ['the meta-schema', { $ref: 'https://json-schema.org/draft/2020-12/schema' }, 'names no schema within'],
    [
      'a $dynamicRef to elsewhere',
      object({ a: { $dynamicRef: 'https://x.y/#n' } }),
      '$dynamicRef "https://x.y/#n"',
    ],
    ['a $ref into a value', { default: { items: {} }, $ref: '#/default/items' }, 'names no schema within'],
    ['a $ref with a broken escape', { $ref: '#/%' }, 'names no schema within'],
    ['$data', object({ a: { type: 'number', minimum: { $data: '1/b' } } }), 'minimum: $data'],
    ['$data in a pattern', object({ a: { pattern: { $data: '1/b' } } }), 'pattern: $data'],
    ['uniqueItems without maxItems', object({ a: { uniqueItems: true } }), 'uniqueItems needs a maxItems'],
    ['uniqueItems of many', object({ a: { uniqueItems: true, maxItems: 20_000 } }), 'at most 1000'],
    ['look-around', object({ a: { pattern: '^(?=x)' } }), 'look-around'],
    ['look-around in patternProperties', { patternProperties: { '^(?!x)': {} } }, 'look-around'],
    ['a back-reference', object({ a: { pattern: '(a)\\1' } }), 'back-references'],
    ['$async within', object({ a: { $async: true } }), '$async'],
  ];
  it.each(bombs)('%s', (_what, schema, reason) => {
    const start = performance.now();
    expect(() => compile(schema)).toThrow(reason);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});

describe('accepts', () => {
  const plain: [what: string, schema: JsonSchema, good: unknown, bad: unknown][] = [
    ['a property called $data', object({ $data: { type: 'number' } }), { $data: 1 }, { $data: 'x' }],
    ['a value called $data', object({ a: { const: { $data: 1 } } }), { a: { $data: 1 } }, { a: 1 }],
    ['a property called $ref', object({ $ref: { type: 'string' } }), { $ref: 'https://x.y' }, { $ref: 1 }],
    [
      'uniqueItems with maxItems',
      object({ a: { uniqueItems: true, maxItems: 9 } }),
      { a: [1] },
      { a: [1, 1] },
    ],
    ['uniqueItems: false', object({ a: { uniqueItems: false, maxItems: 1 } }), { a: [1] }, { a: [1, 1] }],
    ['32 levels', nested(32, (items) => ({ items }), { type: 'number' }), listsAround(1), listsAround('x')],
    [
      'references by path, with escapes',
      object({ a: { $ref: '#/$defs/b~1c%20d' } }, { $defs: { 'b/c d': { type: 'number' } } }),
      { a: 1 },
      { a: 'x' },
    ],
    [
      'references by the document’s own $id',
      object(
        { a: { $ref: 'urn:example:tool#/$defs/n' }, b: { $ref: 'urn:example:part' } },
        {
          $id: 'urn:example:tool',
          $defs: { n: { type: 'number' }, p: { $id: 'urn:example:part', type: 'null' } },
        },
      ),
      { a: 1, b: null },
      { a: 1, b: 1 },
    ],
  ];
  it.for(plain)('%s', ([, schema, good, bad]) => {
    const check = compile(schema);
    expect(check(good)).toEqual([]);
    expect(check(bad)).not.toEqual([]);
  });

  it('499 subschemas on 100 000 values', () => {
    const check = compile(
      object({ a: { items: { type: 'number' } } }, { $defs: { x: { anyOf: list(490, () => ({})) } } }),
    );
    const a: unknown[] = list(100_000, (n) => n);
    expect(check({ a })).toEqual([]);
    expect(readableErrors(check({ a: [...a, 'x'] }))).toBe('- /a/100000: must be number (given: "x")');
  });
});

it('compiles equal schemas once', () => {
  const compiler = createSchemaCompiler();
  const schemaOf = (description: string) => object({ a: { type: 'number', description } });
  expect(compiler.compile(schemaOf('x'))).toBe(compiler.compile(schemaOf('x')));
  expect(compiler.compile(schemaOf('x'))).not.toBe(compiler.compile(schemaOf('y')));
});

it('a compiler does not know the $ids of another', () => {
  const $id = 'https://example.com/shared';
  createSchemaCompiler().compile({ $id, type: 'object' });
  expect(() => compile(object({ a: { $ref: $id } }))).toThrow('names no schema within');
  expect(compile({ $id, type: 'object' })({})).toEqual([]);
});
