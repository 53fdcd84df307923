/**
 * Takes out of a tool's words what people do not see and models and terminals obey: terminal escapes, control
 * characters but tab and line ends, and Unicode tags, in which a whole text can hide.
 */
export function cleanText(text: string): string {
  return text.replace(escapes, '').replace(controls, '').replace(tags, '');
}

/** A copy of a JSON value with clean strings and keys, as text. Throws what JSON.stringify throws. */
export const cleanJsonTextOf = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return cleanText(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    const isClean = Object.keys(part).every((key) => cleanText(key) === key);
    return isClean
      ? part
      : Object.fromEntries(Object.entries(part).map(([key, each]) => [cleanText(key), each]));
  });

// Sequences that end nowhere lose their first two characters alone, so that one cannot swallow the text behind it.
const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[ -~]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const tags = /[\u{E0000}-\u{E007F}]/gu;

/** True only where `cleanText` would change nothing; \udb40 begins every Unicode tag, and some other characters. */
export const isClean = (text: string): boolean => !suspicious.test(text);
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const suspicious = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\udb40]/;
