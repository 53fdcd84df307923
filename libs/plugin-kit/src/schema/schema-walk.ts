/** Where JSON Schema 2020-12 has schemas within schemas, with the older words that Ajv still reads. */

export type SchemaObject = Record<string, unknown>;

export interface Subschema {
  /** A boolean is a schema, too: anything, or nothing. */
  schema: SchemaObject | boolean;
  /** Where it stands in its document: the URI by the `$id`s around it, and the JSON pointer from the nearest `$id`. */
  resource: string;
  pointer: string;
  /** Schemas around it; 0 for the root. */
  depth: number;
}

/** The document's own name where it states none. */
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

/** Every schema of a document, the root first; values (`const`, `enum`, `default`) are not looked into. */
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

/** An `$id` begins a resource of its own. */
function entered(place: Subschema): Subschema {
  if (typeof place.schema === 'boolean' || typeof place.schema.$id !== 'string') return place;
  const [resource = unnamed] = resolveUri(place.schema.$id, place.resource)?.split('#') ?? [];
  return { ...place, resource, pointer: '' };
}

/** Undefined where it is no URI. */
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
