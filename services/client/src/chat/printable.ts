import { shortened } from '@harness/contracts';

/**
 * Text from models, tools and gateways as it may be shown: without escape sequences and control characters, which
 * terminals obey, and without what reorders or hides text. Line ends become line feeds; a lone carriage return would let
 * a line be overwritten.
 */
export const printableOf = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replace(escapes, '').replace(unprintable, '');

// A sequence that ends nowhere loses its escape alone, so that it cannot swallow the text behind it.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const escapes = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/g;
/** Controls but tab and line feed; bidi embeddings, overrides and isolates; Unicode tags; line and paragraph separators. */
const unprintable = /[[\p{Cc}--[\t\n]]\u202a-\u202e\u2066-\u2069\u2028\u2029\u{E0000}-\u{E007F}]/gv;

/** One line of at most so many characters. */
export function oneLineOf(text: string, maxChars = 90): string {
  const line = printableOf(text).replace(/\s+/g, ' ').trim();
  return shortened(line, maxChars);
}
