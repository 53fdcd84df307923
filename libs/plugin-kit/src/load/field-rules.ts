/** Rules of fields: each returns what is wrong with a value, or undefined. */
import { isObject, isPlainObject } from '@harness/contracts';
import type { SchemaCompiler } from '../schema/schema.ts';
import { textOf } from '../text-of.ts';
import { invisibleIn } from './invisible-text.ts';
import { parseUriTemplate } from './uri-template.ts';

/** Returns what is wrong with a field's value; undefined = valid. */
export type Problem = (value: unknown) => string | undefined;

/** `setTimeout` fires at once for a larger value. */
const maxTimeoutMs = 2 ** 31 - 1;

/** A JSON Schema of an object that compiles, where a compiler is given. */
export const describesObject =
  (compiler: SchemaCompiler | undefined): Problem =>
  (value) => {
    if (!isPlainObject(value)) return 'must be a plain JSON Schema object (defineTool converts Zod)';
    if (value.type !== undefined && value.type !== 'object') {
      return `must describe an object: type is ${JSON.stringify(value.type)}`;
    }
    try {
      compiler?.compile(value);
    } catch (thrown) {
      return `must compile as JSON Schema 2020-12: ${textOf(thrown)}`;
    }
  };

/** The rule, for a field that may be absent. */
export const optional =
  (problem: Problem): Problem =>
  (value) =>
    value === undefined ? undefined : problem(value);

/** The first problem that one of the rules finds. */
export const first =
  (...problems: Problem[]): Problem =>
  (value) => {
    for (const problem of problems) {
      const found = problem(value);
      if (found !== undefined) return found;
    }
    return undefined;
  };

/** No character, at any depth, that models read and people do not see. */
export const isVisible: Problem = (value) => {
  const found = invisibleIn(value);
  return found && `has an invisible character, which models read and people do not see: ${found}; remove it`;
};

/** A string of at most this many characters. */
export const isAtMost =
  (most: number): Problem =>
  (value) =>
    typeof value === 'string' && value.length <= most
      ? undefined
      : `must be a string of at most ${most} characters`;

/** A string that matches the pattern. */
export const matches =
  (pattern: RegExp): Problem =>
  (value) =>
    typeof value === 'string' && pattern.test(value)
      ? undefined
      : `must be a string matching ${pattern.source}`;

/** No `__`, which stands between plugin and tool. */
export const hasNoSeparator: Problem = (value) =>
  String(value).includes('__') ? 'must be without "__", which separates plugin and tool' : undefined;

/** A string with a visible character. */
export const isNonBlank: Problem = (value) =>
  typeof value === 'string' && /\S/.test(value) ? undefined : 'must be a non-blank string';

/** An object from names to names. */
export const isNames: Problem = (value) =>
  isPlainObject(value) && Object.values(value).every((name) => typeof name === 'string')
    ? undefined
    : 'must be an object that maps each old name to its new name';

/** A plain object whose fields keep the rule. */
export const isObjectOf =
  (problem: Problem): Problem =>
  (value) =>
    isPlainObject(value)
      ? Object.values(value)
          .map(problem)
          .find((found) => found !== undefined)
      : 'must be a plain object';

/** Arguments of a prompt. */
export const isArguments: Problem = (value) =>
  Array.isArray(value) &&
  value.every((one) => isObject(one) && isNonBlank(one.name) === undefined && isVisible(one) === undefined)
    ? undefined
    : 'must be an array of objects, each with a name and without invisible characters';

/** True or false. */
export const isBoolean: Problem = (value) => (typeof value === 'boolean' ? undefined : 'must be a boolean');

/** A task mode of a tool. */
export const isTaskMode: Problem = (value) =>
  value === 'optional' || value === 'required' ? undefined : 'must be "optional" or "required"';

/** An absolute URI. */
export const isUri: Problem = (value) =>
  typeof value === 'string' && URL.canParse(value) ? undefined : 'must be an absolute URI';

/** A URI template that `parseUriTemplate` reads. */
export const isUriTemplate: Problem = (value) => {
  if (typeof value !== 'string') return 'must be a string';
  try {
    parseUriTemplate(value);
  } catch (thrown) {
    return textOf(thrown);
  }
};

/** A function. */
export const isFunction: Problem = (value) =>
  typeof value === 'function' ? undefined : 'must be a function';

/** A list of strings. */
export const isTexts: Problem = (value) =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')
    ? undefined
    : 'must be a list of strings';

/** An array. */
export const isList: Problem = (value) => (Array.isArray(value) ? undefined : 'must be an array');

/** For texts that are listed with one line each. */
export const isOneLine: Problem = (value) => (/[\r\n]/.test(String(value)) ? 'must be one line' : undefined);

/** Milliseconds that a timer takes. */
export const isTimeout: Problem = (value) =>
  typeof value === 'number' && value > 0 && value <= maxTimeoutMs
    ? undefined
    : `must be a number of milliseconds from 1 to ${maxTimeoutMs}`;
