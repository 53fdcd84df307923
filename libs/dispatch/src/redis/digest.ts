import { createHash } from 'node:crypto';
import { isObject } from '@harness/contracts';

/** SHA-256 of a text, in hexadecimal. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A digest of a JSON value that does not depend on the order of its keys. */
export function digestOf(value: unknown): string {
  return sha256(JSON.stringify(value, (_, inner) => (isObject(inner) ? sorted(inner) : inner)) ?? '');
}

const sorted = (object: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
