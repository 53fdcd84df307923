import { expect, test } from 'vitest';
import { cutText, jsonOf, shortened } from './text.ts';

test('a cut never leaves half of a surrogate pair', () => {
  expect(cutText('ab😀cd', 3)).toBe('ab😀');
  expect(cutText('😀😀😀', 2)).toBe('😀😀');
  expect(cutText('ab', 2)).toBe('ab');
  expect(shortened('ab😀cd', 4)).toBe('ab😀…');
  expect(shortened('ab😀cd', 5)).toBe('ab😀cd');
});

test('JSON has no half of a surrogate pair, and text that only looks like one stays', () => {
  expect(JSON.parse(jsonOf({ a: ['x\ud83d'], b: '\\ud83d', c: '😀' }))).toEqual({
    a: ['x\ufffd'],
    b: '\\ud83d',
    c: '😀',
  });
  expect(jsonOf({ a: '\udc00' })).not.toContain('\\udc00');
});
