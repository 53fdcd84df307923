import { expect, test } from 'vitest';
import { planOf } from './plan.ts';

const planned = (script: string, toolUses = 0, before: string[] = []) =>
  planOf({ texts: [...before, script], toolUses, toolResult: '10:00' });

/** The plan in readable form: joined texts, other actions unchanged. */
const readable = (...args: Parameters<typeof planned>) =>
  planned(...args).map((action) => (action.kind === 'text' ? action.deltas.join('') : action));

test('say lines join; blank, quoted, reject and verdict lines are silent; other lines are answered', () => {
  const script = 'say: one\n\n> say: foreign\n>\nsay: two\nreject: 3\nverdict: x\nHow are you?';
  expect(readable(script).join('')).toBe('one\ntwo\nYou said: How are you?');
});

test.each(['', '> say: foreign', 'reject: 1', 'say:', '\n'])('nothing to say in %j is "Done."', (script) => {
  expect(readable(script)).toEqual(['Done.']);
});

test('a script continues after the tools it has used', () => {
  const script = 'say: a\ncall: time__now {"zone":"UTC"}\nsay: b\ncall: skills__list\nsay: c\nsay: d';
  const first = { kind: 'use', tool: 'mcp__harness__time__now', input: { zone: 'UTC' } };
  const second = { kind: 'use', tool: 'mcp__harness__skills__list', input: {} };
  expect(readable(script)).toEqual(['a', first]);
  expect(readable(script, 1)).toEqual(['b', second]);
  expect(readable(script, 2).join('')).toBe('c\nd');
});

test('a script that ends with a tool returns the tool’s result', () => {
  expect(readable('call: time__now', 1)).toEqual(['The tool answered: 10:00']);
});

test('delegate and checkin are tools; a delegated script can delegate a script', () => {
  const [outer] = readable('delegate: say: a\\ndelegate: say: b\\\\nsay: c');
  const prompt = 'say: a\ndelegate: say: b\\nsay: c';
  expect(outer).toEqual({ kind: 'use', tool: 'mcp__harness__delegation__delegate', input: { prompt } });
  expect(readable(prompt)[1]).toMatchObject({ input: { prompt: 'say: b\nsay: c' } });
  const checkin = { kind: 'use', tool: 'mcp__harness__delegation__checkin', input: { message: 'half done' } };
  expect(readable('checkin: half done')).toEqual([checkin]);
});

test.each(['call: time__now {zone}', 'call: time__now []', 'call:', 'sleep: long', 'fail: 200', 'stream: 0'])(
  'an unreadable line is reported, and the script continues: %s',
  (line) => {
    expect(readable(`${line}\nsay: on`).join('')).toMatch(/^I cannot read the line .*\non$/);
  },
);

test('recall returns what earlier texts and earlier lines remembered, and nothing else', () => {
  expect(readable('recall:', 0, ['remember: apple', '> remember: no', 'remember: pear'])).toEqual([
    'apple, pear',
  ]);
  expect(readable('recall:\nremember: late')[0]).toBe('nothing');
  expect(readable('remember: kiwi')).toEqual(['I will remember kiwi.']);
});

test('stream: N is N deltas, with or without a text before it', () => {
  const deltas = ['1', ' 2', ' 3'];
  expect(planned('stream: 3')).toEqual([{ kind: 'text', deltas, everyMs: 10 }]);
  expect(planned('say: a\nstream: 3').at(1)).toMatchObject({ deltas: ['\n1', ' 2', ' 3'] });
});

test('a sleep has a limit', () => {
  expect(planned('sleep: 999999999').at(0)).toEqual({ kind: 'sleep', ms: 600_000 });
});

test('hang and cut are the last action', () => {
  expect(readable('say: a\nhang:\nsay: b')).toEqual(['a', { kind: 'hang' }]);
  expect(readable('cut:\nsay: b')).toEqual([{ kind: 'cut' }]);
});
