import { describe, expect, it } from 'vitest';
import { invisibleIn, withoutInvisible } from './invisible-text.ts';
import { validatePluginExport } from './validate.ts';

it.each([
  ['a tag', 'a\u{e0041}', 'U+E0041'],
  ['the tag that begins a language', '\u{e0001}', 'U+E0001'],
  ['right-to-left override', 'a\u202eb', 'U+202E'],
  ['an isolate', '\u2066a', 'U+2066'],
  ['zero-width space', 'a\u200bb', 'U+200B'],
  ['zero-width no-break space', '\ufeffa', 'U+FEFF'],
  ['a joiner between letters', 'a\u200db', 'U+200D'],
  ['word joiner', 'a\u2060b', 'U+2060'],
  ['soft hyphen', 'a\u00adb', 'U+00AD'],
  ['a selector after a letter', 'a\ufe0f', 'U+FE0F'],
  ['a selector of the supplement, in which bytes can hide', '😀\u{e0155}', 'U+E0155'],
  ['a second selector after an emoji', '❤\ufe0f\ufe0f', 'U+FE0F'],
  ['tags after an emoji that is not a flag', '😀\u{e0067}\u{e007f}', 'U+E0067'],
  ['Hangul filler', 'a\u3164', 'U+3164'],
  ['an escape', '\u001b[8m', 'U+001B'],
  ['NUL', 'a\u0000', 'U+0000'],
  ['a line separator', 'a\u2028b', 'U+2028'],
  ['a lone surrogate', 'a\ud800', 'U+D800'],
])('finds %s', (_what, text, found) => {
  expect(invisibleIn(text)).toBe(found);
});

it.each([
  ['plain text', 'Tomorrow’s weather\tfor a city.\r\nTakes “°C” – or °F … '],
  ['other scripts', '日本語 العربية עברית हिन्दी ไทย é e\u0301'],
  ['emoji', '😀 ❤️ 1️⃣ ☎︎ 👩🏽‍💻 👨‍👩‍👧 🇫🇷'],
  ['a flag made of tags', '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}'],
  ['no text', 5],
])('lets %s pass', (_what, text) => {
  expect(invisibleIn(text)).toBeUndefined();
});

it('searches every string and key, and reports the place', () => {
  expect(invisibleIn({ a: [1, { b: 'x\u200b' }] })).toBe('U+200B in "b" in "1" in "a"');
  expect(invisibleIn({ 'a\u200b': 1 })).toBe('U+200B in "a?"');
});

it('a text keeps all that is seen, also emoji, and nothing else', () => {
  const text = 'Say\u200b it\u{e0049}\u202e.\n👩‍💻 ☀️\ud800 é';
  expect(withoutInvisible(text)).toBe('Say it.\n👩‍💻 ☀️ é');
  expect(invisibleIn(withoutInvisible(text))).toBeUndefined();
});

describe('a plugin is refused', () => {
  const hidden = 'Adds.\u{e0069}';
  it.each([
    ['description', { description: hidden }],
    ['title', { title: hidden }],
    ['name', { name: `add${hidden}` }],
    ['annotations', { annotations: { title: hidden } }],
    ['schema', { schema: { type: 'object', properties: { a: { description: hidden } } } }],
    ['schema', { schema: { type: 'object', properties: { [hidden]: {} } } }],
    ['schema', { schema: { type: 'object', properties: { a: { enum: [hidden] } } } }],
    ['outputSchema', { outputSchema: { type: 'object', description: hidden } }],
  ])('for its tool’s %s, with the code point and the tool', (field, parts) => {
    const tool = { name: 'add', description: 'Adds.', schema: {}, handler: () => 'x', ...parts };
    const plugin = { name: 'p', version: '1', register: () => undefined, tools: [tool] };
    expect(validatePluginExport({ plugin }, 'm')).toEqual({
      valid: false,
      errors: [expect.stringMatching(new RegExp(`^m: tools\\[0\\]\\.${field}: .*U\\+E0069.*\\(tool "add`))],
    });
  });
});
