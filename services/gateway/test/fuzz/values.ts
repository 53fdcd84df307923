/** Values for fuzzing, made from a JSON Schema: mostly valid, sometimes anything. */
import fc from 'fast-check';

export type Schema = boolean | { [keyword: string]: unknown };
type Values = fc.Arbitrary<unknown>;

/** UTF-16 code units, including lone surrogates, control characters and bidirectional controls. */
const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
});
const oddText = fc.constantFrom(
  '',
  ' ',
  '\ud83d',
  'x\udc00',
  '\0',
  '__proto__',
  'constructor',
  '../..',
  '%00',
  '-1',
  '1e309',
  '💥'.repeat(60),
  'x'.repeat(5_000),
);
const oddNumber = fc.constantFrom(0, -1, 1.5, 1e308, -1e308, Number.MAX_SAFE_INTEGER, 2 ** 53, -0, 1e-7);
const anything = fc.oneof(
  { weight: 2, arbitrary: fc.oneof(anyText, oddText) },
  { weight: 1, arbitrary: fc.oneof(oddNumber, fc.double({ noNaN: true, noDefaultInfinity: true })) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) as Values },
);

/** `known`: values by field name, such as ids of existing resources. */
export interface Making {
  resolve(ref: string): Schema;
  known(field: string): Values | undefined;
}

/** Generates values of the schema; one time in `oneIn`, any other value. */
export function valuesOf(schema: Schema, making: Making, { field = '', levels = 4 } = {}): Values {
  const fitting = making.known(field) ?? fittingOf(schema, making, levels);
  return fc.oneof({ weight: 9, arbitrary: fitting }, { weight: 1, arbitrary: anything });
}

function fittingOf(schema: Schema, making: Making, levels: number): Values {
  if (typeof schema === 'boolean' || levels === 0) return anything;
  const { $ref, enum: allowed, const: only, anyOf, oneOf } = schema;
  if (typeof $ref === 'string') return fittingOf(making.resolve($ref), making, levels);
  if (Array.isArray(allowed)) return fc.constantFrom(...allowed);
  if (only !== undefined) return fc.constant(only);
  const choices = (anyOf ?? oneOf) as Schema[] | undefined;
  if (choices) return fc.oneof(...choices.map((one) => fittingOf(one, making, levels)));
  const types = [schema.type ?? []].flat() as string[];
  if (types.length === 0) return anything;
  return fc.oneof(...types.map((type) => typedOf({ ...schema, type }, making, levels)));
}

/** Of a schema that has one type. */
function typedOf(schema: Exclude<Schema, boolean>, making: Making, levels: number): Values {
  const {
    minimum = -1_000_000,
    maximum = 1_000_000,
    minLength = 0,
    maxLength,
    pattern,
  } = schema as Record<string, never>;
  switch (schema.type) {
    case 'string':
      return pattern
        ? fc.stringMatching(new RegExp(pattern))
        : fc.string({ minLength, maxLength: Math.min(maxLength ?? 60, 60), unit: 'grapheme' });
    case 'integer':
      return fc.integer({ min: Number(minimum), max: Number(maximum) });
    case 'number':
      return fc.double({ min: Number(minimum), max: Number(maximum), noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(valuesOf((schema.items ?? true) as Schema, making, { levels: levels - 1 }), {
        maxLength: 4,
      });
    default:
      return objectOf(schema, making, levels);
  }
}

function objectOf(schema: Exclude<Schema, boolean>, making: Making, levels: number): Values {
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = schema as {
    properties?: Record<string, Schema>;
    required?: string[];
    additionalProperties?: Schema;
  };
  const fields = Object.entries(properties).map(([name, inner]) => {
    const present = valuesOf(inner, making, { field: name, levels: levels - 1 });
    return [name, fc.option(present, { freq: required.includes(name) ? 15 : 2, nil: undefined })] as const;
  });
  const record = fc.record(Object.fromEntries(fields));
  const extra = fc.dictionary(fc.oneof(fc.string({ maxLength: 8 }), oddText), anything, { maxKeys: 2 });
  const oneIn = additionalProperties === false ? 20 : 3;
  return fc.oneof(
    { weight: oneIn - 1, arbitrary: record },
    { weight: 1, arbitrary: fc.tuple(extra, record).map(([others, own]) => ({ ...others, ...own })) },
  );
}
