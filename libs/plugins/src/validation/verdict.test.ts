import { expect, test } from 'vitest';
import { parseVerdict } from './verdict.ts';

const fence = '```';
const accepted = { accepted: true } as const;
const rejected = (feedback: string) => ({ accepted: false, feedback }) as const;
const noReason = rejected('The reviewer rejected the result and gave no reason.');

test.each([
  ['{"verdict":"accepted"}', accepted],
  ['{"verdict": "accepted", "feedback": ""}', accepted],
  ['{"verdict":"accepted","feedback":null}', accepted],
  ['{"verdict":"accepted","feedback":"Well done, complete and correct."}', accepted],
  ['  {"verdict":"accepted"}\n\n', accepted],
  ['{\n  "verdict": "accepted",\n  "confidence": 0.97\n}', accepted],
  [`${fence}json\n{"verdict":"accepted"}\n${fence}`, accepted],
  [`${fence}\n{"verdict":"accepted"}\n${fence}`, accepted],
  [`${fence}JSON\r\n{"verdict": "accepted"}\r\n${fence}\r\n`, accepted],
  ['Looks good! {"verdict":"accepted"}', accepted],
  ['Here is my verdict:\n\n{"verdict":"accepted"}', accepted],
  ['{"verdict":"accepted"}\n\nThe report covers all three points.', accepted],
  [
    `I checked the sums (2 + 2 = 4).\n\n${fence}json\n{"verdict":"accepted"}\n${fence}\nGlad to help!`,
    accepted,
  ],
  ['{"reasoning":"It has {all} the parts.","verdict":"accepted"}', accepted],
  ['{"review":{"verdict":"accepted"}}', accepted],
  ['[{"verdict":"accepted"}]', accepted],
  ['{"verdict":"Accepted"}', accepted],
  ['{"verdict":" ACCEPTED "}', accepted],
  ['{"verdict":"accepted"} {"verdict":"accepted"}', accepted],
  ['The set {a, b} is right. {"verdict":"accepted"}', accepted],
  ['> {"verdict":"rejected","feedback":"from the material"}\n{"verdict":"accepted"}', accepted],
  ['{"verdict":"rejected","feedback":"add sources"}', rejected('add sources')],
  ['{"feedback":"add sources","verdict":"rejected"}', rejected('add sources')],
  [`${fence}json\n{"verdict":"rejected","feedback":"add\\nsources"}\n${fence}`, rejected('add\nsources')],
  ['{"verdict":"rejected","feedback":"two\nlines"}', rejected('two lines')],
  ['Not yet.\n{"verdict":"rejected","feedback":"say \\"why\\" {here}"}', rejected('say "why" {here}')],
  [
    '{"verdict":"rejected","feedback":"it claims {\\"verdict\\":\\"accepted\\"}"}',
    rejected('it claims {"verdict":"accepted"}'),
  ],
  ['{"verdict":"rejected","feedback":"a","severity":"high","items":[{"line":3}]}', rejected('a')],
  ['{"verdict":"Rejected","feedback":"fix the title"}', rejected('fix the title')],
  ['{"verdict":"rejected"}', noReason],
  ['{"verdict":"rejected","feedback":"  "}', noReason],
  ['{"verdict":"rejected","feedback":"x"}\nIn short: {"verdict":"rejected"}', rejected('x')],
])('%j is a verdict', (answer, verdict) => {
  expect(parseVerdict(answer)).toEqual(verdict);
});

test.each([
  '',
  'accepted',
  'The result is accepted.',
  '[]',
  '{}',
  '{"verdict":"maybe"}',
  '{"verdict":true}',
  '{"accepted":true}',
  '{verdict: accepted}',
  '{"verdict":"accepted"',
  'Answer {"verdict":"accepted"} or {"verdict":"rejected","feedback":"…"}',
  '{"verdict":"rejected","feedback":"no"} On reflection: {"verdict":"accepted"}',
  '> {"verdict":"accepted"}',
  '{"verdict":["accepted","rejected"]}',
])('%j is not a verdict, so the result is not accepted', (answer) => {
  expect(parseVerdict(answer)).toEqual({
    accepted: false,
    feedback: `The reviewer gave no readable verdict, so the result is not accepted. It said: ${answer}`,
  });
});

test('the beginning of a long unreadable response is quoted, without splitting a character', () => {
  const { feedback } = parseVerdict('👩'.repeat(5_000)) as { feedback: string };
  expect(feedback.endsWith(`It said: ${'👩'.repeat(500)}`)).toBe(true);
  expect(feedback.isWellFormed()).toBe(true);
});

test('a response that is built to be slow is parsed quickly', () => {
  const before = performance.now();
  expect(parseVerdict('{'.repeat(1_000_000)).accepted).toBe(false);
  expect(parseVerdict('{"a":'.repeat(200_000)).accepted).toBe(false);
  expect(performance.now() - before).toBeLessThan(5_000);
});
