import { expect, test } from 'vitest';
import { readJson } from './json-body.ts';

const code = (text: string) => {
  try {
    readJson(text);
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return 'accepted';
};

test('half surrogate pairs are replaced, in values and names', () => {
  expect(readJson('{"a":"x\\ud83d","b":["\\udc00y"],"\\ud83dc":1,"ok":"\\ud83d\\ude00"}')).toEqual({
    a: 'x\ufffd',
    b: ['\ufffdy'],
    '\ufffdc': 1,
    ok: '😀',
  });
});

test.each([
  ['{"a":1e309}'],
  ['[-1e999]'],
  ['{"__proto__":{}}'],
  ['{"\\u005f_proto__":1}'],
  ['{"a":{"constructor":{"prototype":{}}}}'],
  ['{'],
  [''],
  [`${'['.repeat(101)}${']'.repeat(101)}`],
])('%s is refused', (text) => {
  expect(code(text)).toBe('invalid_request');
});

test.each([['{"constructor":"a word"}'], ['\ufeff{}'], ['1e308'], [`${'['.repeat(100)}${']'.repeat(100)}`]])(
  '%s is accepted',
  (text) => {
    expect(code(text)).toBe('accepted');
  },
);
