import { expect, test } from 'vitest';
import { lineOf } from './line-of.ts';

test.each([
  ['', { kind: 'blank' }],
  [' \t', { kind: 'blank' }],
  ['hello /use', { kind: 'message', text: 'hello /use' }],
  ['/use tea', { kind: 'command', command: '/use tea' }],
  ['//use tea', { kind: 'message', text: '/use tea' }],
  ['///', { kind: 'message', text: '//' }],
  [' /use', { kind: 'message', text: ' /use' }],
])('%j', (typed, line) => {
  expect(lineOf(typed)).toEqual(line);
});
