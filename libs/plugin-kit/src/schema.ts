/**
 * JSON Schema 2020-12 by Ajv. Strict where a mistake would otherwise pass in silence (unknown keywords and formats),
 * lenient where strict mode only dislikes a style. Nothing is coerced, filled in or removed: the handler gets the
 * input as the caller sent it.
 */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from './contract.ts';
import { textOf } from './text-of.ts';

/** Ajv compiles for seconds on schemas of this size and overflows the stack on this depth; no model reads them anyway. */
const maxSchemaChars = 64 * 1024;
const maxSchemaDepth = 64;
const maxErrors = 8;
const maxAllowedValues = 20;

/** One thing wrong with a value; `instancePath` is a JSON pointer, '' for the value itself. */
export type SchemaError = Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'schemaPath'> & {
  message: string;
};

/** No errors = valid. */
export type SchemaCheck = (value: unknown) => SchemaError[];

export interface SchemaCompiler {
  /** Throws an Error whose message says what is wrong with the schema. */
  compile(schema: JsonSchema): SchemaCheck;
}

/** One per plugin, so that a `$id` of one plugin is unknown to the others. */
export function createSchemaCompiler(): SchemaCompiler {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    allowUnionTypes: true,
    allowMatchingProperties: true,
    // One error at a time reads less well than all, but collecting all lets a hostile input cost without bound.
    allErrors: false,
    $data: false,
    logger: false,
  });
  addFormats.default(ajv);
  // Ajv resolves `$anchor` but strict mode does not know the word.
  ajv.addKeyword('$anchor');
  // MCP's: the header in which a client repeats an input.
  ajv.addKeyword('x-mcp-header');

  return {
    compile(schema) {
      refuseUncheckable(schema);
      try {
        const validate = ajv.compile(schema);
        return (value) => errorsOf(validate, value);
      } finally {
        // Forgets every `$id` seen, so two tools may state the same one; compiled checks need them no more.
        ajv.removeSchema();
      }
    },
  };
}

function refuseUncheckable(schema: JsonSchema): void {
  // Ajv would return a promise, which is truthy: every input would pass.
  if ('$async' in schema) throw new Error('$async is not a keyword of JSON Schema');
  if (JSON.stringify(schema).length > maxSchemaChars) {
    throw new Error(`larger than ${maxSchemaChars} characters`);
  }
  if (depthOf(schema) > maxSchemaDepth) throw new Error(`nested deeper than ${maxSchemaDepth} levels`);
}

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Object.values(value).reduce<number>((deepest, child) => Math.max(deepest, depthOf(child)), 0)
    : 0;

function errorsOf(validate: ReturnType<Ajv2020['compile']>, value: unknown): SchemaError[] {
  try {
    if (validate(value)) return [];
  } catch (thrown) {
    // A recursive schema and a very deep input overflow the stack: not valid, and not a fault of the process.
    const message = `could not be checked: ${textOf(thrown)}`;
    return [{ instancePath: '', keyword: '$ref', params: {}, schemaPath: '#', message }];
  }
  return (validate.errors ?? [])
    .slice(0, maxErrors)
    .map(({ instancePath, keyword, params, schemaPath, message = `fails "${keyword}"` }) => ({
      instancePath,
      keyword,
      params,
      schemaPath,
      message,
    }));
}

/** One line per error, for the model to read: the path of the field, then what it must be. */
export function readableErrors(errors: readonly SchemaError[]): string {
  return errors
    .slice(0, maxErrors)
    .map((error) => `- ${readableError(error)}`)
    .join('\n');
}

function readableError({ instancePath, keyword, params, message }: SchemaError): string {
  const at = (child?: unknown) =>
    child === undefined ? instancePath || '(input)' : `${instancePath}/${pointerPartOf(String(child))}`;
  switch (keyword) {
    case 'required':
      return `${at(params.missingProperty)}: missing required property "${params.missingProperty}"`;
    case 'additionalProperties':
      return `${at(params.additionalProperty)}: unknown property "${params.additionalProperty}"`;
    case 'unevaluatedProperties':
      return `${at(params.unevaluatedProperty)}: unknown property "${params.unevaluatedProperty}"`;
    case 'propertyNames':
      return `${at(params.propertyName)}: property name "${params.propertyName}" is not allowed`;
    case 'enum':
      return `${at()}: must be one of ${listOf(params.allowedValues)}`;
    case 'const':
      return `${at()}: must be ${JSON.stringify(params.allowedValue)}`;
    default:
      return `${at()}: ${message}`;
  }
}

const pointerPartOf = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');

function listOf(values: unknown[]): string {
  const shown = values.slice(0, maxAllowedValues).map((value) => JSON.stringify(value));
  const hidden = values.length - shown.length;
  return hidden > 0 ? `${shown.join(', ')} and ${hidden} more` : shown.join(', ');
}
