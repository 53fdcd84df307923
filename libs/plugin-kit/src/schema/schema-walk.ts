/** Walks all subschemas of a JSON Schema 2020-12 document, including the older keywords that Ajv still reads. */

/** A schema as a JSON object. */
export type SchemaObject = Record<string, unknown>;

/** A schema and its place in the document. */
export interface Subschema {
  /** A boolean is a schema that allows everything or nothing. */
  schema: SchemaObject | boolean;
  /** The base URI, from the enclosing `$id`s. */
  resource: string;
  /** The JSON pointer from the nearest `$id`. */
  pointer: string;
  /** Number of enclosing schemas; 0 for the root. */
  depth: number;
}

/** The base URI of a document without `$id`. */
const unnamed = 'schema:///';

const oneSchema = new Set(
  'items contains not if then else propertyNames additionalProperties additionalItems unevaluatedItems unevaluatedProperties contentSchema'.split(
    ' ',
  ),
);
const listOfSchemas = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const mapOfSchemas = new Set(
  'properties patternProperties dependentSchemas dependencies $defs definitions'.split(' '),
);

/** Yields every schema of a document, the root first. Does not descend into values (`const`, `enum`, `default`). */
export function* subschemasOf(root: SchemaObject): Generator<Subschema> {
  const waiting: Subschema[] = [{ schema: root, resource: unnamed, pointer: '', depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const here = entered(next);
    yield here;
    if (typeof here.schema === 'boolean') continue;
    for (const [path, schema] of childrenOf(here.schema)) {
      waiting.push({
        schema,
        resource: here.resource,
        pointer:
          here.pointer + path.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
        depth: here.depth + 1,
      });
    }
  }
}

/** An `$id` starts a new resource. */
function entered(place: Subschema): Subschema {
  if (typeof place.schema === 'boolean' || typeof place.schema.$id !== 'string') return place;
  const [resource = unnamed] = resolveUri(place.schema.$id, place.resource)?.split('#') ?? [];
  return { ...place, resource, pointer: '' };
}

/** Resolves a reference against a base URI; undefined if the result is not a URI. */
export function resolveUri(reference: string, base: string): string | undefined {
  return URL.parse(reference, base)?.href;
}

function childrenOf(schema: SchemaObject): [path: string[], child: SchemaObject | boolean][] {
  return Object.entries(schema).flatMap(([keyword, value]): [string[], SchemaObject | boolean][] => {
    if (oneSchema.has(keyword)) return isSchema(value) ? [[[keyword], value]] : [];
    if (!listOfSchemas.has(keyword) && !mapOfSchemas.has(keyword)) return [];
    return Object.entries(value ?? {}).flatMap(([key, child]): [string[], SchemaObject | boolean][] =>
      isSchema(child) ? [[[keyword, key], child]] : [],
    );
  });
}

const isSchema = (value: unknown): value is SchemaObject | boolean =>
  typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value));
