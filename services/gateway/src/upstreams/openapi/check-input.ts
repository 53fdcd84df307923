import { AppError, isObject } from '@harness/contracts';
import { createSchemaCompiler, type SchemaCheck } from '@harness/plugin-kit';
import type { FlatSchema } from './flatten-schema.ts';

/**
 * Returns the function that makes the check of an operation's input. A schema beyond the bounds of the validator is checked in outline:
 * the names of the inputs, which are required, and their types.
 */
export function createInputChecks(): (schema: FlatSchema) => SchemaCheck {
  const compiler = createSchemaCompiler();
  const checks = new WeakMap<FlatSchema, SchemaCheck>();
  const compiled = (schema: FlatSchema): SchemaCheck => {
    try {
      return compiler.compile(withoutTexts(schema));
    } catch {
      return outlined(schema);
    }
  };
  const outlined = (schema: FlatSchema): SchemaCheck => {
    try {
      return compiler.compile(outlineOf(schema));
    } catch (error) {
      throw new AppError('tool_failed', `Its input cannot be checked: ${(error as Error).message}`);
    }
  };
  return (schema) => {
    const check = checks.get(schema) ?? compiled(schema);
    checks.set(schema, check);
    return check;
  };
}

/** The schema without what is for people and models, which counts for the bounds. */
function withoutTexts(schema: FlatSchema): FlatSchema {
  const { title: _, description: __, default: ___, ...rest } = schema;
  return Object.fromEntries(
    Object.entries(rest).map(([keyword, value]) => {
      if (keyword === 'enum' || keyword === 'const') return [keyword, value];
      if (keyword === 'properties' && isObject(value))
        return [keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]))];
      return [keyword, Array.isArray(value) ? value.map(inner) : inner(value)];
    }),
  );
}

const inner = (value: unknown): unknown => (isObject(value) ? withoutTexts(value) : value);

/** Inputs whose types are checked in an outline. */
const maxTyped = 400;

function outlineOf({ properties, required }: FlatSchema): FlatSchema {
  const inputs = Object.entries(isObject(properties) ? properties : {});
  const types = inputs
    .slice(0, maxTyped)
    .map(([name, one]) => [name, isObject(one) && one.type !== undefined ? { type: one.type } : {}]);
  return {
    type: 'object',
    properties: Object.fromEntries(types),
    propertyNames: { enum: inputs.map(([name]) => name) },
    ...(required !== undefined && { required }),
  };
}
