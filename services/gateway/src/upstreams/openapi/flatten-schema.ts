/** A JSON Schema without references, with the keywords that models and validators know; plain JSON. */
export type FlatSchema = Record<string, unknown>;

/** References within references; deeper ones are any value. */
const maxDepth = 8;
/** Schemas in one operation: a model reads no more. */
const maxNodes = 1_000;
/** Text of a description, characters. */
const maxText = 1_000;
const maxPattern = 200;

/** Keywords that are kept as they are. */
const plain = new Set(
  'type title enum const default minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems minProperties maxProperties required'.split(
    ' ',
  ),
);
/** Formats that the validator knows. */
const formats = new Set(
  'date date-time time duration email hostname ipv4 ipv6 uri uri-reference uuid'.split(' '),
);
/** Keywords with schemas: one, a list, or a map. */
const [single, lists, maps] = [
  new Set(['items', 'not', 'additionalProperties']),
  new Set(['anyOf', 'oneOf', 'allOf']),
  new Set(['properties']),
];

/** Resolves references within one document. */
export interface SchemaFlattener {
  /** A schema of the document, flat. `problem` hears of each reference that leads nowhere or out of the document. */
  flatten(schema: unknown): FlatSchema;
  /** What a `$ref` object stands for, for the parts of the document that are no schemas. */
  resolve(node: unknown): unknown;
}

/** Creates the flattener of one operation; its bounds are for all that it flattens together. */
export function createFlattener(document: object, problem: (text: string) => void): SchemaFlattener {
  let nodes = 0;
  const target = (reference: string): unknown => {
    if (!reference.startsWith('#/')) {
      problem(
        `the reference ${JSON.stringify(reference.slice(0, 200))} leads out of the document and is not followed`,
      );
      return undefined;
    }
    return reference
      .slice(2)
      .split('/')
      .map((part) => decoded(part.replaceAll('~1', '/').replaceAll('~0', '~')))
      .reduce<unknown>(
        (node, part) => (isObject(node) && Object.hasOwn(node, part) ? node[part] : undefined),
        document,
      );
  };
  const resolve = (node: unknown): unknown => {
    let current = node;
    for (let depth = 0; isObject(current) && typeof current.$ref === 'string'; depth++) {
      if (depth > maxDepth) return undefined;
      current = target(current.$ref);
    }
    return current;
  };
  const walk = (given: unknown, path: readonly unknown[]): FlatSchema => {
    if (!isObject(given)) return {};
    const schema = resolve(given);
    // A schema within itself would have no end: from there on it is any value.
    if (!isObject(schema) || path.includes(schema) || path.length > maxDepth || ++nodes > maxNodes)
      return describedBy(given, schema);
    const inner = [...path, schema];
    const flat: FlatSchema = describedBy(given, schema);
    for (const [keyword, value] of Object.entries(schema)) {
      if (plain.has(keyword)) flat[keyword] = value;
      else if (keyword === 'format' && formats.has(String(value))) flat.format = value;
      else if (keyword === 'pattern' && typeof value === 'string' && value.length <= maxPattern)
        flat.pattern = value;
      else if (single.has(keyword)) flat[keyword] = typeof value === 'boolean' ? value : walk(value, inner);
      else if (lists.has(keyword) && Array.isArray(value))
        flat[keyword] = value.map((one) => walk(one, inner));
      else if (maps.has(keyword) && isObject(value))
        flat[keyword] = Object.fromEntries(
          Object.entries(value).map(([name, one]) => [name, walk(one, inner)]),
        );
    }
    return flat;
  };
  return { flatten: (schema) => walk(schema, []), resolve };
}

/** The description beside a reference, or else that of its target. */
function describedBy(given: Record<string, unknown>, schema: unknown): FlatSchema {
  const text = given.description ?? (isObject(schema) ? schema.description : undefined);
  return typeof text === 'string' && text !== '' ? { description: text.slice(0, maxText) } : {};
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether a value is an object and no array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The properties of an object schema, those of its `allOf` included; undefined for one that may be something else. */
export function propertiesOf(
  schema: FlatSchema,
): { properties: Record<string, unknown>; required: string[] } | undefined {
  const { type, properties, required, allOf, anyOf, oneOf } = schema;
  if (anyOf !== undefined || oneOf !== undefined) return undefined;
  const parts = Array.isArray(allOf) ? allOf.map((part) => propertiesOf(part as FlatSchema)) : [];
  if (parts.includes(undefined) || (type !== undefined && type !== 'object')) return undefined;
  if (!isObject(properties) && parts.length === 0) return undefined;
  const all = [...(parts as { properties: Record<string, unknown>; required: string[] }[])];
  return {
    properties: Object.assign({}, ...all.map((part) => part.properties), properties),
    required: [
      ...all.flatMap((part) => part.required),
      ...(Array.isArray(required) ? required.filter((one) => typeof one === 'string') : []),
    ],
  };
}
