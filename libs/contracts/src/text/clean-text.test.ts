import { expect, test } from 'vitest';
import { cleanJsonTextOf, cleanText, isClean } from './clean-text.ts';

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
  const parts = [
    'a',
    '\u001b',
    '[m',
    '\u200b',
    '\ufe0e',
    '\ufe0f',
    '\ufe00',
    '\u{E0041}',
    '\u{E0101}',
    '\udb40',
    '\udc41',
  ];
  const texts = parts.flatMap((a) =>
    parts.flatMap((b) => parts.flatMap((c) => parts.map((d) => a + b + c + d))),
  );
  expect(texts.filter((text) => !isClean(cleanText(text)))).toEqual([]);
  expect(texts.filter((text) => isClean(text) !== (cleanText(text) === text))).toEqual([]);
});

test('half of a surrogate pair is replaced, also in the strings and keys of JSON', () => {
  expect(isClean('a\ud800b')).toBe(false);
  expect(cleanText('a\ud800b\udc00 😀')).toBe('a\ufffdb\ufffd 😀');
  expect(cleanText('\udb40\u200b\udc41')).toBe('\ufffd\ufffd');
  expect(JSON.parse(cleanJsonTextOf({ 'k\ud83d': ['\udc00'] }))).toEqual({ 'k\ufffd': ['\ufffd'] });
});
