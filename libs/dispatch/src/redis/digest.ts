import { createHash } from 'node:crypto';

/** SHA-256 of a text, in hexadecimal. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A digest of a JSON value that does not depend on the order of its keys. */
export function digestOf(value: unknown): string {
  return sha256(JSON.stringify(value, (_, inner) => (isPlainObject(inner) ? sorted(inner) : inner)) ?? '');
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const sorted = (object: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
