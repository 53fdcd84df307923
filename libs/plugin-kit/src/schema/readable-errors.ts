/** Turns Ajv's errors into text for the model or person who wrote the value: field, expectation, actual value. */

import { AppError, cleanText } from '@harness/contracts';
import type { ErrorObject } from 'ajv/dist/2020.js';

/** One problem of a value. `instancePath` is a JSON pointer, '' for the value itself. */
export type SchemaError = Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'schemaPath'> & {
  message: string;
  /** The actual value as JSON, cut; absent when the problem is a missing property or a property name. */
  given?: string;
};

/** The number of problems that are listed; of the rest, only the count is given. */
export const maxErrors = 20;
const maxAllowedValues = 20;
const maxGivenChars = 80;
const maxGivenDepth = 4;

/** Converts an error of Ajv, which must run with the option `verbose`: that adds the value. */
export function schemaErrorOf(error: ErrorObject): SchemaError {
  const { instancePath, keyword, params, schemaPath } = error;
  const message = expectationOf(error);
  const given = isAboutValue(keyword) ? shownOf(error.data) : undefined;
  return { instancePath, keyword, params, schemaPath, message, ...(given === undefined ? {} : { given }) };
}

/** One line per error, without duplicates. `root` is the name of the value itself. */
export function readableErrors(errors: readonly SchemaError[], root = '(input)'): string {
  const lines = [...new Set(errors.map((error) => `- ${lineOf(error, root)}`))];
  const hidden = lines.length - maxErrors;
  return [...lines.slice(0, maxErrors), ...(hidden > 0 ? [`- and ${hidden} more problems`] : [])].join('\n');
}

/** The error for a tool's input that its schema refuses; `what`: how the text calls the input. */
export const inputError = (what: string, errors: readonly SchemaError[]): AppError =>
  new AppError('invalid_tool_input', `${what} is not valid:\n${readableErrors(errors)}`, { details: errors });

function lineOf({ instancePath, keyword, params, message, given }: SchemaError, root: string): string {
  const at = (child?: unknown) =>
    child === undefined ? instancePath || root : `${instancePath}/${pointerPartOf(String(child))}`;
  switch (keyword) {
    case 'required':
      return `${at(params.missingProperty)}: missing required property "${params.missingProperty}"`;
    case 'additionalProperties':
      return `${at(params.additionalProperty)}: unknown property "${params.additionalProperty}"`;
    case 'unevaluatedProperties':
      return `${at(params.unevaluatedProperty)}: unknown property "${params.unevaluatedProperty}"`;
    case 'propertyNames':
      return `${at(params.propertyName)}: property name "${params.propertyName}" is not allowed`;
    default:
      return `${at()}: ${message}${given === undefined ? '' : ` (given: ${given})`}`;
  }
}

function expectationOf({
  keyword,
  params,
  instancePath,
  message = `fails "${keyword}"`,
}: ErrorObject): string {
  switch (keyword) {
    case 'enum':
      return `must be one of ${listOf(params.allowedValues)}`;
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case 'pattern':
      return params.pattern === nonBlank
        ? `${instancePath.split('/').at(-1)} must not be blank`.trim()
        : message;
    default:
      return message;
  }
}

/** The usual pattern of schemas for a text that must not be blank. */
const nonBlank = '\\S';

const aboutNames = new Set(
  'required additionalProperties unevaluatedProperties propertyNames dependentRequired'.split(' '),
);
const isAboutValue = (keyword: string) => !aboutNames.has(keyword);

function shownOf(value: unknown): string | undefined {
  const text = cleanText(JSON.stringify(excerptOf(value, maxGivenDepth)) ?? '');
  if (text === '') return undefined;
  const characters = [...text.slice(0, 2 * maxGivenChars)];
  return characters.length <= maxGivenChars ? text : `${characters.slice(0, maxGivenChars).join('')}…`;
}

/** The part of a value that may be shown: values may be large, deep, or circular. */
function excerptOf(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.slice(0, 2 * maxGivenChars);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return '…';
  if (Array.isArray(value)) return value.slice(0, maxGivenChars).map((part) => excerptOf(part, depth - 1));
  const entries = Object.entries(value).slice(0, maxGivenChars);
  return Object.fromEntries(entries.map(([key, part]) => [key, excerptOf(part, depth - 1)]));
}

const pointerPartOf = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');

function listOf(values: unknown[]): string {
  const shown = values.slice(0, maxAllowedValues).map((value) => JSON.stringify(value));
  const hidden = values.length - shown.length;
  return hidden > 0 ? `${shown.join(', ')} and ${hidden} more` : shown.join(', ');
}
