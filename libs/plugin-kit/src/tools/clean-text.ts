/**
 * Removes characters that people do not see but that affect models and terminals: terminal escapes, control characters
 * except tab and line ends; Unicode tags and the supplement of variation selectors, which can hide a whole text; zero-width
 * spaces; bidi embeddings, overrides and isolates, which show a text in another order. Joiners stay: emoji and many scripts
 * need them.
 */
export function cleanText(text: string): string {
  return text.replace(escapes, '').replace(controls, '').replace(unseen, '');
}

/** Serializes a JSON value with clean strings and keys. Throws what `JSON.stringify` throws. */
export const cleanJsonTextOf = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return cleanText(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    const isClean = Object.keys(part).every((key) => cleanText(key) === key);
    return isClean
      ? part
      : Object.fromEntries(Object.entries(part).map(([key, each]) => [cleanText(key), each]));
  });

// An unterminated sequence loses only its first two characters, so that it cannot remove the text after it.
const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[ -~]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const unseen = /[\u200b\u2060\u202a-\u202e\u2066-\u2069\ufeff]|[\u{E0000}-\u{E007F}]|[\u{E0100}-\u{E01EF}]/gu;

/** True only if `cleanText` would change nothing. `\udb40` starts every Unicode tag and variation selector. */
export const isClean = (text: string): boolean => !suspicious.test(text);
const suspicious =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\udb40]/;
