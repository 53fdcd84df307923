/** Removes from texts what people do not see but models and terminals obey. */

/**
 * Removes characters that people do not see but that affect models and terminals: terminal escapes; control characters except
 * tab and line ends; every character that can hide a text because it is drawn as nothing: Unicode tags, the supplement of
 * variation selectors and U+FE00 to U+FE0D, zero-width spaces, fillers, soft hyphens, grapheme joiners, interlinear
 * annotations, deprecated format characters; bidi embeddings, overrides and isolates, which show a text in another order. Half of a
 * surrogate pair, which many parsers refuse, becomes U+FFFD.
 *
 * What emoji and scripts need stays: joiners, Mongolian variation selectors, and one selector of text or emoji style (U+FE0E,
 * U+FE0F) after a character. Two or more in a row mean nothing and are removed.
 */
export function cleanText(text: string): string {
  if (isClean(text)) return text;
  // Halves first: what stands between two of them is removed, and they must not become a character then.
  return text
    .toWellFormed()
    .replace(escapes, '')
    .replace(controls, '')
    .replace(unseen, '')
    .replace(selectorRuns, '');
}

/** Serializes a JSON value with clean strings and keys. Throws what `JSON.stringify` throws. */
export const cleanJsonTextOf = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return cleanText(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.keys(part).every(isClean)
      ? part
      : Object.fromEntries(Object.entries(part).map(([key, each]) => [cleanText(key), each]));
  });

// An unterminated sequence loses only its first two characters, so that it cannot remove the text after it.
const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
  /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[ -~]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const unseen =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is matched alone
  /[\u034f\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u202a-\u202e\u2060\u2066-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\u{E0000}-\u{E007F}\u{E0100}-\u{E01EF}]/gu;
// After the others, since these can stand between two selectors.
const selectorRuns = /[\ufe0e\ufe0f]{2,}/g;

/** True only if `cleanText` would change nothing. `\udb40` starts every Unicode tag and variation selector. */
export const isClean = (text: string): boolean => !suspicious.test(text) && text.isWellFormed();
const suspicious =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is matched alone
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
  /[\u034f\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u202a-\u202e\u2060\u2066-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\udb40]|[\ufe0e\ufe0f]{2}/;
