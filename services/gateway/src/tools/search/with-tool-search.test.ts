import { expect, test } from 'vitest';
import { isMany } from './with-tool-search.ts';

/** This many tools with names of this length. */
const toolsOf = (count: number, chars: number) =>
  Array.from({ length: count }, (_, n) => ({
    name: `many__${n}`.padEnd(chars, 'x'),
    description: '',
    inputSchema: { type: 'object' as const },
  }));

test.each([
  { count: 400, chars: 28, expected: true },
  { count: 300, chars: 28, expected: false },
  { count: 430, chars: 15, expected: false },
  { count: 130, chars: 90, expected: true },
])(
  '$count tools with names of $chars characters: the gateway searches = $expected',
  ({ count, chars, expected }) => {
    expect(isMany(toolsOf(count, chars))).toBe(expected);
  },
);
