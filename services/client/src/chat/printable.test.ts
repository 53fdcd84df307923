import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonLineOf, oneLineOf, printableOf } from './printable.ts';

test.each([
  ['a\u001b[31mred\u001b[0m', 'ared'],
  ['title\u001b]0;x\u0007.\u001b]8;;http://x\u001b\\link', 'title.link'],
  ['a\u009b2Jb\u0008\u0007\u0000c', 'abc'],
  ['over\rwritten\r\nnext', 'over\nwritten\nnext'],
  ['a\u202egnp.exe', 'agnp.exe'],
  ['a\u{E0041}b', 'ab'],
  ['an escape \u001b]0; that ends nowhere', 'an escape 0; that ends nowhere'],
  ['a\u3164b\u206ac\ufff9d', 'abcd'],
  ['tabs\tand 漢字 and 👩‍💻 stay', 'tabs\tand 漢字 and 👩‍💻 stay'],
])('%j is shown as %j', (text, shown) => {
  expect(printableOf(text)).toBe(shown);
});

test('the result never contains a control character', () => {
  const unit = fc.constantFrom(
    '\u001b',
    '\u009b',
    '[',
    ']',
    '2J',
    '\u0007',
    '\\',
    '\r',
    '\n',
    '\t',
    'x',
    '\u202e',
  );
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      const left = [...printableOf(text)].filter((character) => /\p{Cc}/u.test(character));
      expect(left.filter((character) => character !== '\n' && character !== '\t')).toEqual([]);
    }),
  );
});

test('oneLineOf returns one line of bounded length', () => {
  expect(oneLineOf(' a\n\tb \u001b[1mc ')).toBe('a b c');
  expect(oneLineOf('x'.repeat(200))).toBe(`${'x'.repeat(89)}…`);
});

test('a line of JSON has no raw character that a terminal or an eye misreads, and is the same value', () => {
  const value = { text: 'a\u009b2Jb\u202ec\u200bd\u{E0101}e\u{E0041}\u007f\u115f\ufe0f\ufe0f', 'k\u2066': 1 };
  const line = jsonLineOf(value);
  expect(line).toMatch(/^[\x20-\x7e]*$/);
  expect(JSON.parse(line)).toEqual(value);
});
