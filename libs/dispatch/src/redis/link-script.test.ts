import { expect, test } from 'vitest';
import { linkScript } from './link-script.ts';

const library = `
-- A comment that names unused() includes nothing.
local P = KEYS[1]
local function key(id) return P .. id end
local clock = redis.call('TIME')
local now = clock[1]
local later
local function unused()
  return now
end
local function used(id)
  later(id)
  return {
    key(id),
  }
end
later = function(id) return C.limit end
`;

test('a script gets the definitions that it uses, directly or indirectly, in order, and no others', () => {
  expect(linkScript(library, '-- unused\nreturn used(1)', { limit: 5, other: 6 })).toBe(
    [
      'local P = KEYS[1]',
      'local function key(id) return P .. id end',
      'local later',
      'local function used(id)\n  later(id)\n  return {\n    key(id),\n  }\nend',
      'later = function(id) return 5 end',
      'return used(1)',
    ].join('\n'),
  );
});

test('a script that uses no definition is unchanged', () => {
  expect(linkScript(library, 'return 1', {})).toBe('return 1');
});

test('a limit that does not exist is refused', () => {
  expect(() => linkScript(library, 'return C.unknown', { limit: 5 })).toThrow('There is no limit "unknown".');
});

test('a library line that defines nothing is refused', () => {
  expect(() => linkScript("redis.call('PING')", 'return 1', {})).toThrow(/defines nothing/);
});
