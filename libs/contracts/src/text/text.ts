/**
 * Cutting and encoding text without leaving half of a surrogate pair.
 *
 * This folder:
 *   clean-text.ts text without characters that people do not see
 *   json-depth.ts how deeply a JSON value is nested
 *   json-object.ts whether a value is an object
 *   quote.ts      quotes foreign text behind `> `
 */

/** The first `most` code points of a text. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (let count = 0; count < most && end < text.length; count++)
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

/** The first code points of a text, at most `most` including the `…` that marks a cut. */
export const shortened = (text: string, most: number): string =>
  cutText(text, most).length === text.length ? text : `${cutText(text, most - 1)}…`;

const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value);
/** JSON.stringify writes a lone half as an escape like this; text without one needs no further work. */
const mayHaveHalves = /\\ud[89a-f]/;

/**
 * JSON that any parser accepts: the parser in Redis refuses half of a surrogate pair, which JSON.stringify
 * writes as an escape. A lone half in a value becomes U+FFFD; field names are not checked, since callers do
 * not choose them.
 */
export function jsonOf(value: unknown): string {
  const text = JSON.stringify(value);
  return mayHaveHalves.test(text) ? JSON.stringify(value, wellFormed) : text;
}
