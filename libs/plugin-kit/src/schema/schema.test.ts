import { describe, expect, it } from 'vitest';
import type { JsonSchema } from '../contract/contract.ts';
import { readableErrors } from './readable-errors.ts';
import { createSchemaCompiler } from './schema.ts';

const errorsOf = (schema: JsonSchema, value: unknown) => createSchemaCompiler().compile(schema)(value);
const reportOf = (schema: JsonSchema, value: unknown) => readableErrors(errorsOf(schema, value));
const object = (properties: JsonSchema, rest: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...rest,
});

describe('JSON Schema 2020-12 is enforced', () => {
  const cases: [what: string, schema: JsonSchema, good: unknown, bad: unknown, path: string][] = [
    [
      'nested objects',
      object({ a: object({ b: { type: 'number' } }) }),
      { a: { b: 1 } },
      { a: { b: 'x' } },
      '/a/b',
    ],
    [
      'arrays',
      object({ a: { type: 'array', items: { type: 'string' } } }),
      { a: ['x'] },
      { a: ['x', 2] },
      '/a/1',
    ],
    ['enums', object({ a: { enum: ['x', 'y'] } }), { a: 'y' }, { a: 'z' }, '/a'],
    ['const', object({ a: { const: 5 } }), { a: 5 }, { a: 6 }, '/a'],
    [
      '$ref and $defs',
      object(
        { a: { $ref: '#/$defs/node' } },
        { $defs: { node: object({ next: { $ref: '#/$defs/node' } }) } },
      ),
      { a: { next: { next: {} } } },
      { a: { next: { next: 1 } } },
      '/a/next/next',
    ],
    [
      '$ref to the root',
      object({ next: { $ref: '#' } }),
      { next: { next: {} } },
      { next: { next: 5 } },
      '/next/next',
    ],
    [
      '$dynamicRef',
      object({ next: { $dynamicRef: '#n' } }, { $dynamicAnchor: 'n' }),
      { next: {} },
      { next: 5 },
      '/next',
    ],
    [
      '$anchor',
      object({ a: { $ref: '#name' } }, { $defs: { n: { $anchor: 'name', type: 'string' } } }),
      { a: 'x' },
      { a: 1 },
      '/a',
    ],
    [
      'prefixItems',
      object({ a: { prefixItems: [{ type: 'number' }, { type: 'string' }], items: false } }),
      { a: [1, 'x'] },
      { a: ['x', 'x'] },
      '/a/0',
    ],
    [
      'unevaluatedProperties',
      { type: 'object', allOf: [object({ a: { type: 'number' } })], unevaluatedProperties: false },
      { a: 1 },
      { a: 1, extra: 2 },
      '/extra',
    ],
    [
      'formats',
      object({ at: { type: 'string', format: 'date-time' } }),
      { at: '2026-01-01T00:00:00Z' },
      { at: 'noon' },
      '/at',
    ],
    ['union types', object({ a: { type: ['string', 'null'] } }), { a: null }, { a: 1 }, '/a'],
    [
      'dependentRequired',
      object({}, { dependentRequired: { a: ['b'] } }),
      { a: 1, b: 2 },
      { a: 1 },
      '(input)',
    ],
    [
      'overlapping patternProperties',
      object({ ab: { minimum: 1 } }, { patternProperties: { '^a': { type: 'number' } } }),
      { ab: 1 },
      { ab: 0 },
      '/ab',
    ],
  ];
  it.for(cases)('%s', ([, schema, good, bad, path]) => {
    expect(errorsOf(schema, good)).toEqual([]);
    expect(reportOf(schema, bad)).toContain(`- ${path}:`);
  });

  it('coerces nothing, fills in nothing, removes nothing', () => {
    const check = createSchemaCompiler().compile(
      object({ n: { type: 'number', default: 5 }, flag: { type: 'boolean' } }),
    );
    expect(check({ n: '5' })).toHaveLength(1);
    expect(check({ flag: 'true' })).toHaveLength(1);
    const input = { extra: 1 };
    expect(check(input)).toEqual([]);
    expect(input).toEqual({ extra: 1 });
  });

  it('treats input that overflows the stack in a recursive schema as invalid', () => {
    let deep = {};
    for (let level = 0; level < 100_000; level++) deep = { next: deep };
    expect(reportOf(object({ next: { $ref: '#' } }), deep)).toContain('could not be checked');
  });
});

describe('the report', () => {
  it('names a missing property with its path', () => {
    const schema = object({ options: object({ path: {} }, { required: ['path'] }) });
    expect(reportOf(schema, { options: {} })).toBe('- /options/path: missing required property "path"');
  });

  it('names an unknown property, escaped as a JSON pointer', () => {
    const schema = object({}, { additionalProperties: false });
    expect(reportOf(schema, { 'a/b': 1 })).toBe('- /a~1b: unknown property "a/b"');
  });

  it('lists the allowed values, but not hundreds of them', () => {
    expect(reportOf(object({ mode: { enum: ['fast', 2, null] } }), { mode: 'x' })).toBe(
      '- /mode: must be one of "fast", 2, null (given: "x")',
    );
    const many = Array.from({ length: 300 }, (_, index) => index);
    expect(reportOf(object({ n: { enum: many } }), { n: -1 })).toMatch(/19 and 280 more \(given: -1\)$/);
  });

  it('names the property whose name is refused', () => {
    const schema = { type: 'object', propertyNames: { pattern: '^[a-z]+$' } };
    expect(reportOf(schema, { A1: 1 })).toContain('property name "A1" is not allowed');
  });

  it('lists all problems at once: field, expectation, actual value', () => {
    const schema = object(
      {
        prompt: { type: 'string', pattern: '\\S' },
        count: { type: 'integer', minimum: 1 },
        tags: { type: 'array', items: { type: 'string' } },
      },
      { required: ['prompt', 'who'], additionalProperties: false },
    );
    const given = { prompt: ' \n', count: 0.5, tags: ['a', 5, { b: 'c'.repeat(500) }], extra: 1 };
    expect(reportOf(schema, given).split('\n').toSorted()).toEqual([
      '- /count: must be >= 1 (given: 0.5)',
      '- /count: must be integer (given: 0.5)',
      '- /extra: unknown property "extra"',
      '- /prompt: prompt must not be blank (given: " \\n")',
      '- /tags/1: must be string (given: 5)',
      expect.stringMatching(/^- \/tags\/2: must be string \(given: \{"b":"c{74}…\)$/),
      '- /who: missing required property "who"',
    ]);
    expect(reportOf({ type: 'object' }, 5)).toBe('- (input): must be object (given: 5)');
  });

  it('is limited when every branch of a union fails, or every item of a list', () => {
    const anyOf = Array.from({ length: 50 }, (_, index) => ({ const: index }));
    expect(reportOf(object({ a: { anyOf } }), { a: 'x' })).toMatch(/\n- and 31 more problems$/);
    const list = object({ a: { type: 'array', items: { type: 'string', maxLength: 1 } } });
    const errors = errorsOf(list, { a: Array.from({ length: 100_000 }, () => 5) });
    expect(errors).toHaveLength(100);
    expect(readableErrors(errors).split('\n')).toHaveLength(21);
  });

  it('shows no invisible character', () => {
    const hidden = '\u001b[31mred\u{e0041}';
    expect(reportOf(object({ a: { type: 'number' } }), { a: hidden })).toBe(
      '- /a: must be number (given: "\\u001b[31mred")',
    );
  });
});

describe('a schema is refused', () => {
  const refused: [what: string, schema: JsonSchema, message: RegExp][] = [
    ['for an unknown keyword', object({ a: { typo: 1 } }), /unknown keyword: "typo"/],
    ['for an unknown format', object({ a: { type: 'string', format: 'nope' } }), /unknown format "nope"/],
    ['for an unknown type', object({ a: { type: 'text' } }), /schema is invalid/],
    ['for another draft', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }, /draft-07/],
    [
      'for a reference to elsewhere',
      object({ a: { $ref: 'https://example.com/x' } }),
      /names no schema within/,
    ],
    ['for a broken pattern', object({ a: { pattern: '(' } }), /regular expression/i],
    ['for $async, whose answer is always truthy', { $async: true, type: 'object' }, /\$async/],
    [
      'for an $id that is taken by the standard',
      { $id: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
      /already exists/,
    ],
    ['for its size', object({ a: { description: 'x'.repeat(70_000) } }), /larger than/],
  ];
  it.each(refused)('%s', (_why, schema, message) => {
    expect(() => createSchemaCompiler().compile(schema)).toThrow(message);
  });

  it('because it is too deep', () => {
    let schema: JsonSchema = { type: 'object' };
    for (let level = 0; level < 40; level++) schema = object({ a: schema });
    expect(() => createSchemaCompiler().compile(schema)).toThrow(/deeper/);
  });
});

it('separates equal $ids within one compiler, nested ones too, and forgets them for the next schema', () => {
  const compiler = createSchemaCompiler();
  const schemaOf = (type: string) =>
    object(
      { a: { $ref: 'part' }, b: { $ref: '#/$defs/here' } },
      { $id: 'https://example.com/tool', $defs: { part: { $id: 'part', type }, here: { type } } },
    );
  const takesNumber = compiler.compile(schemaOf('number'));
  const takesString = compiler.compile(schemaOf('string'));
  expect(takesNumber({ a: 1, b: 1 })).toEqual([]);
  expect(takesNumber({ a: 'x' })).toHaveLength(1);
  expect(takesString({ a: 'x', b: 'x' })).toEqual([]);
  expect(takesString({ b: 1 })).toHaveLength(1);
  expect(() => compiler.compile(object({ a: { $ref: 'https://example.com/tool' } }))).toThrow(
    /names no schema within/,
  );
});
