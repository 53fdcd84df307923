import { expect, test } from 'vitest';
import { lostHistory, withHistory } from './context.ts';

const turn = { runId: 'run_1', kind: 'message' } as const;

test('only a cold session of a thread with finished runs has lost its history', () => {
  expect(lostHistory({ ...turn, path: 'cold', finishedRuns: 1 })).toBe(true);
  expect(lostHistory({ ...turn, path: 'cold', finishedRuns: 0 })).toBe(false);
  for (const path of ['warm', 'spare', 'resume'] as const)
    expect(lostHistory({ ...turn, path, finishedRuns: 3 })).toBe(false);
});

test('history precedes the prompt, quoted line by line', () => {
  const prompt = withHistory(
    [
      { role: 'user', text: 'say: a\nsay: b' },
      { role: 'assistant', text: 'a' },
    ],
    'say: now',
  );
  expect(prompt.split('\n').slice(1)).toEqual([
    '> user: say: a',
    '> say: b',
    '>',
    '> assistant: a',
    '',
    'say: now',
  ]);
});

test('the oldest messages are left out if they do not fit', () => {
  const history = ['old', 'new'].map((word) => ({ role: 'user' as const, text: word.repeat(4000) }));
  expect(withHistory(history, 'p')).not.toContain('old');
  expect(withHistory(history, 'p')).toContain('new');
});
