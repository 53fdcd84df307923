/** Repairs front matter that does not match the schema, where its meaning is certain. */
import type { Problem } from './front-matter.ts';

/** Fields before they are checked, and what was changed in them. */
export interface Lenient {
  data: Record<string, unknown>;
  notes: { field: string; message: string }[];
}

/** The values of a missing name or description. */
export interface Defaults {
  /** The name of the file or folder. */
  name: string;
}

const maxName = 64;
const maxDescription = 1_024;
const maxHint = 200;
const namePattern = /^(?!.*--)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/;

/** A valid name from any text: lower-case letters, digits and single hyphens; '' if it has none. */
export const slugOf = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, maxName)
    .replace(/-+$/, '');

/** A problem with which an item still loads. */
export type Note = Problem;

/**
 * Returns the function that repairs fields: an invalid name becomes a valid one, a long text is cut, an optional field of the
 * wrong type is left out. Fields that restrict (`allowed-tools`, `tools`, `tenants`, `disable-model-invocation`) and
 * `parameters` are never repaired: a guess could allow more than was meant.
 */
export const lenient =
  ({ name }: Defaults) =>
  (written: Record<string, unknown>, body: string): Lenient => {
    const data = { ...written };
    const notes: Lenient['notes'] = [];
    const change = (field: string, value: unknown, message: string) => {
      if (value === undefined) delete data[field];
      else data[field] = value;
      notes.push({ field, message });
    };

    if (typeof data.name !== 'string' || !namePattern.test(data.name)) {
      const slug = slugOf(name) || slugOf(String(data.name ?? ''));
      const how =
        data.name === undefined ? 'there is none' : 'it is not lower-case letters, digits and hyphens';
      if (slug !== '') change('name', slug, `${how}, so the name is "${slug}"`);
    }
    if (data.description === undefined) {
      const [text = ''] = /^(?![#\s<|`-]).+/m.exec(body) ?? [];
      if (text !== '') change('description', text.trim(), 'there is none, so it is the first paragraph');
    }
    if (typeof data.description === 'string' && data.description.trim().length > maxDescription)
      change(
        'description',
        `${data.description.trim().slice(0, maxDescription - 1)}…`,
        `cut to ${maxDescription} characters`,
      );
    const hint = data['argument-hint'];
    if (Array.isArray(hint)) data['argument-hint'] = hint.map((one) => `[${String(one)}]`).join(' ');
    else if (hint !== undefined && typeof hint !== 'string') data['argument-hint'] = JSON.stringify(hint);
    if (typeof data['argument-hint'] === 'string' && data['argument-hint'].length > maxHint)
      change(
        'argument-hint',
        `${data['argument-hint'].slice(0, maxHint - 1)}…`,
        `cut to ${maxHint} characters`,
      );
    if (data.model !== undefined && (typeof data.model !== 'string' || data.model === ''))
      change('model', undefined, 'it is not a text, so it is left out');
    if (data['user-invocable'] !== undefined && typeof data['user-invocable'] !== 'boolean')
      change('user-invocable', undefined, 'it is neither true nor false, so it is left out');
    if (data.context !== undefined && data.context !== 'inline' && data.context !== 'fork')
      change('context', undefined, 'it is neither inline nor fork, so it is left out');
    return { data, notes };
  };
