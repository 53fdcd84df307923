import { expect, test } from 'vitest';
import { refusalOf } from './tool-rules.ts';

const bash = (command: string) => ({ tool: 'Bash', input: { command } });

test('the agent checks the patterns of its start; a tool that was removed since is refused', () => {
  expect(refusalOf(bash('rm x'), ['Bash(git:*)'], ['Bash(git:*)'])).toBeUndefined();
  expect(refusalOf(bash('ls'), ['Bash', 'Read'], ['Bash', 'Read'])).toBeUndefined();
  expect(refusalOf(bash('ls'), ['Read'], ['Bash', 'Read'])).toMatch(/Bash is not allowed/);
  expect(refusalOf({ tool: 'Read', input: {} }, [], ['Read'])).toMatch(/Read is not allowed/);
});

test.each([
  ['git status', true],
  ['git log && git diff | git apply', true],
  ['gitk', false],
  ['git status; rm -rf .', false],
  ['git status\nrm -rf .', false],
  ['git status & rm x', false],
  ['git $(rm x)', false],
  ['git `rm x`', false],
  ['git diff <(rm x)', false],
  ['git () ( rm x ); git x', false],
  ['git ( ) { rm x', false],
  ['npm run test', true],
  ['npm run test --all', false],
  ['make -j4 all', true],
  ['make', false],
])('narrowed to patterns, %j is allowed: %s', (command, isAllowed) => {
  const now = ['Bash(git:*)', 'Bash(npm run test)', 'Bash(make *)'];
  expect(refusalOf(bash(command), now, ['Bash']) === undefined).toBe(isAllowed);
});

test('a pattern to which a tool other than the shell was narrowed is not ignored', () => {
  const write = { tool: 'Write', input: { file_path: '/workspace/x' } };
  expect(refusalOf(write, ['Write(docs/**)'], ['Write'])).toMatch(/cannot be checked/);
  expect(refusalOf(write, ['Write(docs/**)'], ['Write(docs/**)'])).toBeUndefined();
  expect(refusalOf({ tool: 'Bash', input: null }, ['Bash(git:*)'], ['Bash'])).toMatch(/cannot be checked/);
});
