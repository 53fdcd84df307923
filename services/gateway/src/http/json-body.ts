/** The JSON parser of request bodies, for REST and MCP. */
import { AppError } from '@harness/contracts';

/** The refusal of text that is not JSON. */
export class NotJson extends AppError {
  constructor(cause: unknown) {
    super('invalid_request', `The body is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/** Largest nesting of a body, levels: limits the recursion of code that walks through values. */
const maxDepth = 100;

/** Whether a content type names no charset, or UTF-8: the only one that is read. */
export const isUtf8 = (contentType = ''): boolean =>
  !/;\s*charset\s*=(?!\s*"?utf-?8"?\s*(?:;|$))/i.test(contentType);

/** Throws `unsupported_media_type` for a body in another charset than UTF-8. */
export function requireUtf8(contentType: string | undefined): void {
  if (!isUtf8(contentType))
    throw new AppError('unsupported_media_type', 'The body is in another charset. Send JSON as UTF-8.');
}

/**
 * Parses a body. In the result every string is well-formed (half a surrogate pair becomes U+FFFD) and every
 * number is finite. Throws NotJson, and `invalid_request` for text that is nested too deeply, has a number out
 * of range, or a field that could reach a prototype.
 */
export function readJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text);
  } catch (error) {
    throw new NotJson(error);
  }
  return settled(value, maxDepth);
}

const byteOrderMark = 0xfeff;
const refusal = (message: string) => new AppError('invalid_request', message);

function settled(value: unknown, levels: number): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value === 'number' && !Number.isFinite(value))
    throw refusal('The body has a number that is out of range.');
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) throw refusal(`The body is nested deeper than ${maxDepth} levels.`);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = settled(value[i], levels - 1);
    return value;
  }
  const fields = value as Record<string, unknown>;
  for (const name in fields) {
    const inner = settled(fields[name], levels - 1);
    if (isDangerous(name, inner)) throw refusal('The body has a field that is not allowed: "__proto__".');
    if (name.isWellFormed()) fields[name] = inner;
    else {
      delete fields[name];
      fields[name.toWellFormed()] = inner;
    }
  }
  return fields;
}

/** Whether the field could pollute a prototype when code copies the object. */
const isDangerous = (name: string, value: unknown) =>
  name === '__proto__' ||
  (name === 'constructor' &&
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, 'prototype'));
