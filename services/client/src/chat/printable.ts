import { cleanText, shortened } from '@harness/contracts';

/**
 * Makes text from models, tools and gateways safe to print: cleans it and removes separators of lines and paragraphs. Line
 * ends become line feeds, because a lone carriage return would overwrite its line.
 */
export const printableOf = (text: string): string =>
  cleanText(text.replace(/\r\n?/g, '\n').replace(/[\u2028\u2029]/g, ''));

/** Serializes a value as one line of JSON in which every character that `printableOf` removes is escaped: nothing is lost. */
export const jsonLineOf = (value: unknown): string =>
  JSON.stringify(value).replace(notAscii, (part) =>
    printableOf(part) === part
      ? part
      : Array.from({ length: part.length }, (_, i) => escapeOf(part.charCodeAt(i))).join(''),
  );

/** A character, or a run of variation selectors, which is removed as a whole. */
const notAscii = /[\ufe0e\ufe0f]{2,}|[^\x20-\x7e]/gu;

const escapeOf = (unit: number) => `\\u${unit.toString(16).padStart(4, '0')}`;

/** Printable text on one line, shortened to `maxChars`. */
export function oneLineOf(text: string, maxChars = 90): string {
  const line = printableOf(text).replace(/\s+/g, ' ').trim();
  return shortened(line, maxChars);
}
