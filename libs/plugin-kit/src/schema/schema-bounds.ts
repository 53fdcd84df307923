/** Bounds on the size and shape of a schema. Plugin authors write the schemas, so they are not trusted. */
import { isDeeperThan } from '@harness/contracts';
import type { JsonSchema } from '../contract/contract.ts';
import { textOf } from '../text-of.ts';
import { resolveUri, type SchemaObject, type Subschema, subschemasOf } from './schema-walk.ts';

/** No model reads a larger schema, and the cost of compiling grows faster than its size. */
const maxBytes = 64 * 1024;
const maxSubschemas = 500;
const maxDepth = 32;
/** Levels of the JSON itself, including values (`const`, `default`) and the levels between schemas (`properties`). */
const maxJsonDepth = 100;
/** Uniqueness of objects is checked pair by pair: 20 000 objects take 10 s. */
const maxUniqueItems = 1000;

/** Returns a copy of the schema as plain JSON. Throws an Error that names the bound that the schema exceeds. */
export function parseBounded(schema: JsonSchema): SchemaObject {
  const copy = copyOf(schema);
  if (isDeeperThan(maxJsonDepth, copy)) throw new Error(`nested deeper than ${maxJsonDepth} levels`);
  const found: Subschema[] = [];
  for (const subschema of subschemasOf(copy)) {
    if (subschema.depth > maxDepth) throw new Error(`schemas nested deeper than ${maxDepth} levels`);
    if (found.push(subschema) > maxSubschemas) throw new Error(`more than ${maxSubschemas} subschemas`);
  }
  const targets = new Set(found.flatMap(namesOf));
  for (const subschema of found) refuseUnbounded(subschema, targets);
  return copy;
}

function copyOf(schema: JsonSchema): SchemaObject {
  let text: string;
  try {
    text = JSON.stringify(schema);
  } catch (thrown) {
    throw new Error(`cannot be written as JSON: ${textOf(thrown)}`);
  }
  if (Buffer.byteLength(text) > maxBytes) throw new Error(`larger than ${maxBytes} bytes of JSON`);
  return JSON.parse(text);
}

/** Every URI by which a reference can name the schema. */
function namesOf({ schema, resource, pointer }: Subschema): string[] {
  const anchors = typeof schema === 'boolean' ? [] : [schema.$anchor, schema.$dynamicAnchor];
  return [pointer, ...anchors.filter((anchor) => typeof anchor === 'string')].map(
    (name) => `${resource}#${name}`,
  );
}

function refuseUnbounded({ schema, resource }: Subschema, targets: ReadonlySet<string>): void {
  if (typeof schema === 'boolean') return;
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
    const reference = schema[keyword];
    if (typeof reference === 'string' && !targets.has(targetOf(reference, resource))) {
      throw new Error(`${keyword} ${JSON.stringify(reference)} names no schema within the document`);
    }
  }
  // With $async, Ajv returns a promise, which is truthy: every input would pass.
  if ('$async' in schema) throw new Error('$async is not a keyword of JSON Schema');
  for (const [keyword, value] of Object.entries(schema)) {
    const isReference = typeof value === 'object' && value !== null && Object.hasOwn(value, '$data');
    if (isReference && !mayHoldAnything.has(keyword))
      throw new Error(`${keyword}: $data is not a keyword of JSON Schema`);
  }
  const { uniqueItems, maxItems } = schema;
  if (uniqueItems === true && !(typeof maxItems === 'number' && maxItems <= maxUniqueItems)) {
    throw new Error(`uniqueItems needs a maxItems of at most ${maxUniqueItems} beside it`);
  }
}

/** Keywords that hold values, or maps whose keys the author chooses: a property may be named `$data`. */
const mayHoldAnything = new Set(
  'const enum default examples properties patternProperties dependentSchemas dependentRequired dependencies $defs definitions'.split(
    ' ',
  ),
);

function targetOf(reference: string, resource: string): string {
  const [uri = '', fragment = ''] = resolveUri(reference, resource)?.split('#') ?? [];
  try {
    return `${uri}#${decodeURIComponent(fragment)}`;
  } catch {
    return ''; // an invalid escape names no schema
  }
}
