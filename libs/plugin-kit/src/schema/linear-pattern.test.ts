import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLinearPattern } from './linear-pattern.ts';

describe('matches like ECMA-262', () => {
  const patterns = [
    '^[a-z][a-z0-9-]{0,31}$',
    '^\\s*$',
    '\\S\\s\\S',
    '^[\\s\\d]+$',
    '^[^\\s]+$',
    '^[\\S]+$',
    '^[^\\S]+$',
    '^.$',
    'a$',
    '^[[:alpha:]+$',
    '^\\p{L}+$',
    '^\\p{Letter}\\P{Lu}$',
    '^[\\p{Script=Greek}\\-]+$',
    '^\\u{1F600}$',
    '^\\ud83d\\ude00$',
    '^\\u0041\\x42\\cA\\/$',
    '^(?<year>\\d{4})-(?:0\\d|1[0-2])$',
    '\\bfoo\\b',
    '^[^]$',
    '[]',
    '^$|^a{2,3}?b*?$',
    '^[.$|()*+?{}\\[\\]\\\\^]+$',
    '^\\w+@[\\w.-]+$',
  ];
  const texts = [
    '',
    'a',
    'a\n',
    '\n',
    '\r',
    '\u2028',
    '\u00a0',
    '\ufeff',
    '\v',
    ' ',
    'é',
    'É',
    'αβ-',
    '😀',
    'ab-1',
  ];
  texts.push(
    'AB\x01/',
    '2026-01',
    '2026-13',
    'a foo b',
    'afoob',
    'aa',
    'aaab',
    '[',
    ':',
    'alpha',
    '.$|()[]\\^',
    'é b',
  );
  texts.push('a@b.c', '\u200b', '\u3000', '_', '\u0130', '\x00');

  it.each(patterns)('%s', (source) => {
    const native = new RegExp(source, 'u');
    const linear = createLinearPattern(source);
    for (const text of texts) expect([text, linear.test(text)]).toEqual([text, native.test(text)]);
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 8 }),
        (text) => linear.test(text) === native.test(text),
      ),
    );
  });
});

describe('is refused with its reason:', () => {
  it.each([
    ['look-ahead', '^(?=a)b', 'look-around'],
    ['negative look-ahead', '(?!a)', 'look-around'],
    ['look-behind', '(?<=a)b', 'look-around'],
    ['negative look-behind', '(?<!a)b', 'look-around'],
    ['a back-reference', '(a)\\1', 'back-references'],
    ['a named back-reference', '(?<n>a)\\k<n>', 'back-references'],
    ['a count above 1000', 'a{1001}', 'invalid repeat count'],
    ['what ECMA-262 does not know', '\\Qa\\E', 'Invalid regular expression'],
    ['a broken one', '(', 'Invalid regular expression'],
  ])('%s', (_what, source, reason) => {
    expect(() => createLinearPattern(source)).toThrow(reason);
    expect(() => createLinearPattern(source)).toThrow(JSON.stringify(source));
  });

  it('but not a pattern that only resembles one', () => {
    expect(createLinearPattern('^[(?=a)\\]]\\(?!$').test('=!')).toBe(true);
  });
});

it.each(['^(a+)+$', '^(a|a)*$', '^(.*a){12}$', '(x+x+)+y'])(
  '%s takes time in proportion to the text',
  (source) => {
    const pattern = createLinearPattern(source);
    const start = performance.now();
    expect(pattern.test(`${'a'.repeat(50_000)}!`)).toBe(false);
    // V8 needs 1.7 s for 28 characters with the first pattern, and twice as long for each further character.
    expect(performance.now() - start).toBeLessThan(5_000);
  },
);

it('computes the cost of a match from text and states', () => {
  const small = createLinearPattern('^a$');
  const large = createLinearPattern('^a{1,500}$');
  expect(small.costOf('a'.repeat(99))).toBeLessThan(1000);
  expect(large.costOf('a'.repeat(99))).toBeGreaterThan(50_000);
});
