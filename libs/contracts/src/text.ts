/** Text as every part of the system can keep it: no half of a surrogate pair, whatever it was cut from. */

/** At most so many code points of a text. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (let count = 0; count < most && end < text.length; count++)
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

/** The same, with a mark where something is missing. */
export const shortened = (text: string, most: number): string =>
  cutText(text, most).length === text.length ? text : `${cutText(text, most - 1)}…`;

const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value);
/** JSON escapes halves of pairs alone: without this there are none. */
const mayHaveHalves = /\\ud[89a-f]/;

/**
 * JSON that any parser reads: Redis's refuses half a surrogate pair, which JavaScript's writes. Such a half becomes
 * U+FFFD; names of fields are ours.
 */
export function jsonOf(value: unknown): string {
  const text = JSON.stringify(value);
  return mayHaveHalves.test(text) ? JSON.stringify(value, wellFormed) : text;
}
