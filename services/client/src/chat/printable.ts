import { shortened } from '@harness/contracts';

/**
 * Makes text from models, tools and gateways safe to print: removes escape sequences, control characters, and characters
 * that reorder or hide text. Line ends become line feeds, because a lone carriage return would overwrite its line.
 */
export const printableOf = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replace(escapes, '').replace(unprintable, '');

// An unterminated sequence loses only its escape character, so that it cannot remove the text after it.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const escapes = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/g;
/**
 * Controls except tab and line feed; bidi embeddings, overrides and isolates; zero-width spaces; Unicode tags and the
 * supplement of variation selectors; line and paragraph separators.
 */
const unprintable =
  /[[\p{Cc}--[\t\n]]\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\u2028\u2029\u{E0000}-\u{E007F}\u{E0100}-\u{E01EF}]/gv;

/** Serializes a value as one line of JSON in which every character of `unprintable` is escaped: nothing is lost. */
export const jsonLineOf = (value: unknown): string =>
  JSON.stringify(value).replace(unprintable, (character) =>
    Array.from({ length: character.length }, (_, i) => escapeOf(character.charCodeAt(i))).join(''),
  );

const escapeOf = (unit: number) => `\\u${unit.toString(16).padStart(4, '0')}`;

/** Printable text on one line, shortened to `maxChars`. */
export function oneLineOf(text: string, maxChars = 90): string {
  const line = printableOf(text).replace(/\s+/g, ' ').trim();
  return shortened(line, maxChars);
}
