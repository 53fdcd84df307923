import { expect, test } from 'vitest';
import { parseVerdict } from './validation.ts';

test('an exact acceptance is one', () => {
  expect(parseVerdict('{"verdict":"accepted"}\n')).toEqual({ accepted: true });
});

test('a rejection carries its feedback', () => {
  expect(parseVerdict('{"verdict":"rejected","feedback":"add sources"}')).toEqual({
    accepted: false,
    feedback: 'add sources',
  });
});

test.each([
  'accepted',
  'Looks good! {"verdict":"accepted"}',
  '{"verdict":"accepted","feedback":"but"}',
  '{"verdict":"Accepted"}',
  '{"verdict":"rejected"}',
  '[]',
  '',
])('%j is no readable verdict, so not an acceptance', (answer) => {
  expect(parseVerdict(answer)).toMatchObject({
    accepted: false,
    feedback: expect.stringContaining('no readable verdict'),
  });
});
