/** Validation under attack: schemas and values that are built to be slow. */
import { describe, expect, it } from 'vitest';
import type { JsonSchema } from '../../src/contract/contract.ts';
import { readableErrors } from '../../src/schema/readable-errors.ts';
import { createSchemaCompiler } from '../../src/schema/schema.ts';

const compile = (schema: JsonSchema) => createSchemaCompiler().compile(schema);
const object = (properties: JsonSchema, rest: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...rest,
});
/** The report of a check, and its duration in ms. */
function timed(check: (value: unknown) => Parameters<typeof readableErrors>[0], value: unknown) {
  const start = performance.now();
  const report = readableErrors(check(value));
  return { report, ms: performance.now() - start };
}
const nested = (
  levels: number,
  wrap: (inner: JsonSchema) => JsonSchema,
  inner: JsonSchema = {},
): JsonSchema => (levels === 0 ? inner : nested(levels - 1, wrap, wrap(inner)));
const list = (length: number, item: (index: number) => unknown) =>
  Array.from({ length }, (_, index) => item(index));

describe('the cost of one validation is bounded', () => {
  /** Each level refers to the next one twice. */
  const fanOut = (use: (ref: string) => JsonSchema) => ({
    ...use('#/$defs/l0'),
    $defs: Object.fromEntries(
      list(25, (level) => [
        `l${level}`,
        level === 24 ? { minimum: 0 } : use(`#/$defs/l${(level as number) + 1}`),
      ]) as [],
    ),
  });
  const twice = ($ref: string) => ({ allOf: [{ $ref }, { $ref }] });
  const twicePerChild = ($ref: string) => ({
    allOf: [{ properties: { a: { $ref } } }, { properties: { a: { $ref } } }],
  });
  const deep = nested(30, (a) => ({ a }), { a: 1 });
  const bombs: [what: string, schema: JsonSchema, value: unknown][] = [
    ['25 levels of $ref, 33 million schemas', fanOut(twice), 5],
    ['the same through an object', fanOut(twicePerChild), deep],
    [
      'a recursive schema that asks twice',
      { $defs: { n: twicePerChild('#/$defs/n') }, $ref: '#/$defs/n' },
      deep,
    ],
    [
      '$dynamicRef',
      { $dynamicAnchor: 'n', allOf: list(2, () => ({ properties: { a: { $dynamicRef: '#n' } } })) },
      deep,
    ],
    [
      'hundreds of patterns on one text',
      { allOf: list(400, (n) => ({ pattern: `^([a-z]{1,50}|${n})*$` })) },
      'a'.repeat(200_000),
    ],
    ['one pattern with a thousand states', { pattern: '^[ab]*a[ab]{900}[^ab]$' }, 'ab'.repeat(100_000)],
    [
      'unique arrays of objects',
      { items: { uniqueItems: true, maxItems: 1000 } },
      list(80, () => list(1000, (n) => ({ n }))),
    ],
    ['a long URL', { format: 'url' }, `http://${'['.repeat(20_000)}!`],
    ['a long regular expression', { format: 'regex' }, 'a:'.repeat(50_000)],
    ['a long enum', { items: { enum: list(10_000, (n) => n) } }, list(80_000, () => -1 + 10_000)],
  ];
  it.each(bombs)('%s', (_what, schema, value) => {
    const { report, ms } = timed(compile(schema), value);
    expect(report).toContain('could not be checked: the validation takes too many steps');
    expect(ms).toBeLessThan(5_000);
  });

  it('and the next validation has a new budget', () => {
    const check = compile(fanOut(twice));
    expect(readableErrors(check(5))).toContain('too many steps');
    const small = compile(object({ a: { type: 'number' } }));
    for (let time = 0; time < 3; time++) expect(small({ a: 1 })).toEqual([]);
    expect(readableErrors(check(-5))).toContain('must be >= 0');
  });

  it('an exponential pattern takes linear time', () => {
    const { report, ms } = timed(compile(object({ a: { pattern: '^(a+)+$' } })), {
      a: `${'a'.repeat(50_000)}!`,
    });
    expect(report).toContain('must match pattern');
    expect(ms).toBeLessThan(5_000);
  });
});
