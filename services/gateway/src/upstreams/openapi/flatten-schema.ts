import { isObject } from '@harness/contracts';
import { createLinearPattern } from '@harness/plugin-kit';
import { isUsable, isValueKeyword } from './schema-values.ts';

/** A JSON Schema without references, with the keywords that models and validators know; plain JSON. */
export type FlatSchema = Record<string, unknown>;

/** References within references; deeper ones are any value. */
const maxDepth = 8;
/** Schemas in one operation: a model reads no more, and the validator takes 500. */
const maxNodes = 450;
/** Text of a description, characters. */
const maxText = 1_000;
const maxPattern = 200;

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
    if (!reference.startsWith('#/') && reference !== '#') {
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
  /** Counts what was left out: `not` and `oneOf` would refuse more than their author meant without it. */
  let losses = 0;
  const walk = (given: unknown, path: readonly unknown[]): FlatSchema => {
    if (!isObject(given)) return {};
    const isFull = nodes >= maxNodes;
    const schema = isFull ? undefined : resolve(given);
    // A schema within itself would have no end: from there on it is any value.
    if (!isObject(schema) || path.includes(schema) || path.length > maxDepth) {
      losses += 1;
      return describedBy(given, schema);
    }
    nodes += 1;
    const inner = [...path, schema];
    const flat: FlatSchema = describedBy(given, schema);
    for (const [keyword, value] of Object.entries(schema)) {
      const kept = keptOf(keyword, value, inner);
      if (kept) flat[kept.keyword] = kept.value;
    }
    return flat;
  };
  const keptOf = (keyword: string, value: unknown, path: readonly unknown[]) => {
    const before = losses;
    if (single.has(keyword)) {
      if (typeof value === 'boolean') nodes += 1;
      const inner = typeof value === 'boolean' ? value : walk(value, path);
      return keyword === 'not' && losses > before ? undefined : { keyword, value: inner };
    }
    if (lists.has(keyword) && Array.isArray(value) && value.length > 0) {
      const inner = value.slice(0, maxNodes).map((one) => walk(one, path));
      // One that allows anything is the rest of a list that is too long.
      if (value.length > maxNodes) inner.push({});
      const isLost = losses > before || value.length > maxNodes;
      return { keyword: keyword === 'oneOf' && isLost ? 'anyOf' : keyword, value: inner };
    }
    if (maps.has(keyword) && isObject(value))
      return {
        keyword,
        value: Object.fromEntries(Object.entries(value).map(([name, one]) => [name, walk(one, path)])),
      };
    if (isUsable(keyword, value) || (keyword === 'format' && formats.has(String(value))))
      return { keyword, value };
    if (keyword === 'pattern' && isPattern(value)) return { keyword, value };
    if (isValueKeyword(keyword) || keyword === 'pattern') losses += 1;
    return undefined;
  };
  const isPattern = (value: unknown): boolean => {
    if (typeof value !== 'string' || value.length > maxPattern) return false;
    try {
      createLinearPattern(value);
      return true;
    } catch (error) {
      problem(`${(error as Error).message}, and is not checked`);
      return false;
    }
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

/** The properties of an object schema, those of its `allOf` included; undefined for one that may be something else. */
export function propertiesOf(
  schema: FlatSchema,
): { properties: Map<string, unknown>; required: string[] } | undefined {
  const { type, properties, required, allOf, anyOf, oneOf } = schema;
  if (anyOf !== undefined || oneOf !== undefined) return undefined;
  const parts = Array.isArray(allOf) ? allOf.map((part) => propertiesOf(part as FlatSchema)) : [];
  if (parts.includes(undefined) || (type !== undefined && type !== 'object')) return undefined;
  if (!isObject(properties) && parts.length === 0) return undefined;
  const all = [...(parts as { properties: Map<string, unknown>; required: string[] }[])];
  return {
    properties: new Map([
      ...all.flatMap((part) => [...part.properties]),
      ...Object.entries(isObject(properties) ? properties : {}),
    ]),
    required: [
      ...all.flatMap((part) => part.required),
      ...(Array.isArray(required) ? required.filter((one) => typeof one === 'string') : []),
    ],
  };
}
