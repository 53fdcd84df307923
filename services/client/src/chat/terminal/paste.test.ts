import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPasteFilter, textOfTyped } from './paste.ts';

const typedOf = (pieces: readonly string[]) => {
  const filter = createPasteFilter();
  return pieces.map(filter).join('');
};
const pasted = (text: string) => `\u001b[200~${text}\u001b[201~`;

test('what is pasted is part of one line; other keys pass as they are', () => {
  expect(typedOf([`a${pasted('one\r\ntwo\n\nthree\r\n')}b\r`])).toBe('aone↵two↵↵threeb\r');
  expect(textOfTyped('one↵two')).toBe('one\ntwo');
  expect(typedOf(['\u001b[A', '\u001b', '\t', '\r'])).toBe('\u001b[A\u001b\t\r');
});

test('keys in pasted text do nothing: no completion, no escape sequence', () => {
  expect(typedOf([pasted('a\tb\u001b[Ac\u0003')])).toBe('a    b[Ac');
});

test('the pieces in which it arrives make no difference', () => {
  const whole = `x${pasted('one\ntwo')}y${pasted('three')}z`;
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 3, max: whole.length - 1 })), (cuts) => {
      const at = [0, ...new Set(cuts.sort((one, other) => one - other)), whole.length];
      const pieces = at.slice(1).map((to, i) => whole.slice(at[i], to));
      // A piece may not end within the first two characters of a mark: alone they are a key.
      fc.pre(pieces.every((piece) => !piece.endsWith('\u001b') && !piece.endsWith('\u001b[')));
      expect(typedOf(pieces)).toBe('xone↵twoythreez');
    }),
  );
});
