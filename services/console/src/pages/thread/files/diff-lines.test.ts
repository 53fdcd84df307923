import { expect, test } from 'vitest';
import { diffLinesOf, linesOf } from './diff-lines.ts';

test('a text has its lines, whatever ends them', () => {
  expect(linesOf('a\r\nb\n\nc').map(({ text, now }) => [now, text])).toEqual([
    [1, 'a'],
    [2, 'b'],
    [3, ''],
    [4, 'c'],
  ]);
  expect(linesOf('a\n')).toHaveLength(1);
});

test('a diff has numbers, names, and removed lines that look like a head', () => {
  const diff = [
    '--- a/notes.sql',
    '+++ b/notes.sql',
    '@@ -3,2 +3,3 @@',
    ' same',
    '--- a comment',
    '+++ another',
    '+new',
    '\\ No newline at end of file',
    '--- /dev/null',
    '+++ b/src/new.ts',
    '@@ -0,0 +1 @@',
    '+one',
    '--- a/old.ts',
    '+++ /dev/null',
    '@@ -1 +0,0 @@',
    '-gone',
    'Binary files a/x.png and b/x.png differ (3 -> 4 bytes)',
    '',
  ].join('\n');
  expect(diffLinesOf(diff)).toEqual([
    { kind: 'file', text: 'notes.sql' },
    { kind: 'hunk', text: '@@ -3,2 +3,3 @@' },
    { kind: 'same', text: ' same', old: 3, now: 3 },
    { kind: 'removed', text: '--- a comment', old: 4 },
    { kind: 'added', text: '+++ another', now: 4 },
    { kind: 'added', text: '+new', now: 5 },
    { kind: 'note', text: '\\ No newline at end of file' },
    { kind: 'file', text: 'src/new.ts (new)' },
    { kind: 'hunk', text: '@@ -0,0 +1 @@' },
    { kind: 'added', text: '+one', now: 1 },
    { kind: 'file', text: 'old.ts (deleted)' },
    { kind: 'hunk', text: '@@ -1 +0,0 @@' },
    { kind: 'removed', text: '-gone', old: 1 },
    { kind: 'note', text: 'Binary files a/x.png and b/x.png differ (3 -> 4 bytes)' },
  ]);
});
