import { expect, test } from 'vitest';
import { embeddedCommandsIn, withArguments } from './embedded-commands.ts';

const root = '/skills/tea';

test('commands are found at the start of a line and after a blank, each once, with the folder of the skill', () => {
  const text =
    '!`git status`\nNow: !`git diff $1`, not a!`x`, !`` or `y`, !`git status` again\n!`sh {baseDir}/a.sh`';
  expect(embeddedCommandsIn(text, root)).toEqual({
    texts: ['git status', 'git diff $1', 'sh /skills/tea/a.sh'],
    first: 1,
  });
  expect(embeddedCommandsIn('Run `git status`!', root)).toBeUndefined();
});

test('arguments reach the shell beside its text, and the text in the instructions as it was filled in', () => {
  const commands = embeddedCommandsIn('See $ARGUMENTS: !`gh issue view $1 --repo "$ARGUMENTS[1]"`', root);
  if (!commands) throw new Error('none found');
  const args = '17; "a b" `touch x`';
  expect(withArguments(commands, args)).toEqual([
    {
      place: '!`gh issue view 17; --repo "a b"`',
      script: `gh issue view $1 --repo "\${ARGUMENTS_1}"`,
      parameters: ['bash', '17;', 'a b', '`touch', 'x`'],
      env: {
        ARGUMENTS: args,
        ARGUMENTS_0: '17;',
        ARGUMENTS_1: 'a b',
        ARGUMENTS_2: '`touch',
        ARGUMENTS_3: 'x`',
      },
    },
  ]);
});

test('where $0 is the first argument of the instructions, it is that of their commands', () => {
  const commands = embeddedCommandsIn('Compare $0 with !`cat $1`', root);
  if (!commands) throw new Error('none found');
  expect(withArguments(commands, 'a b\0')).toMatchObject([{ place: '!`cat b\0`', parameters: ['a', 'b'] }]);
  expect(withArguments(commands, '')).toMatchObject([{ place: '!`cat $1`', parameters: [''] }]);
});
