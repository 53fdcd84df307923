import { expect, test } from 'vitest';
import { cleanText, isClean } from './clean-text.ts';

test.each([
  ['an emoji that needs its selector and joiner', '❤\ufe0f\u200d🔥 1\ufe0f\u20e3 ☎\ufe0e'],
  ['Persian', 'می\u200cخواهم'],
  ['Mongolian', 'ᠠ\u180bᠨ\u180d'],
  ['Korean', '한글'],
  ['lines', 'a\tb\r\nc'],
])('%s stays', (_what, text) => {
  expect(cleanText(text)).toBe(text);
  expect(isClean(text)).toBe(true);
});

test('every text is clean after one pass', () => {
  const parts = ['a', '\u001b', '[m', '\u200b', '\ufe0e', '\ufe0f', '\ufe00', '\u{E0041}', '\u{E0101}'];
  const texts = parts.flatMap((a) =>
    parts.flatMap((b) => parts.flatMap((c) => parts.map((d) => a + b + c + d))),
  );
  expect(texts.filter((text) => !isClean(cleanText(text)))).toEqual([]);
  expect(texts.filter((text) => isClean(text) !== (cleanText(text) === text))).toEqual([]);
});
