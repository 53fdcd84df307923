import { expect, test } from 'vitest';
import { fillIn } from './fill-in.ts';

const root = '/skills/tea';
const filled = (text: string, args = '') => fillIn(text, { args, root });

test.each([
  ['About $ARGUMENTS, only $ARGUMENTS.', 'green tea', 'About green tea, only green tea.'],
  ['$ARGUMENTS[0] and $ARGUMENTS[1], not $ARGUMENTS[7]!', 'a "b c"', 'a and b c, not !'],
  ['$1 then $2', "'first one' second", 'first one then second'],
  ['$0 then $1', 'first second', 'first then second'],
  ['It costs $100 or $1.50', 'x', 'It costs $100 or $1.50'],
  ['Say $1', '$ARGUMENTS and $2', 'Say $ARGUMENTS'],
])('%j with %j', (text, args, expected) => {
  expect(filled(text, args)).toBe(expected);
});

test('without its argument a number stays, since it may be part of a script', () => {
  expect(filled("awk '{print $1}'")).toBe("awk '{print $1}'");
  expect(filled('About $ARGUMENTS.')).toBe('About .');
});

test.each([
  `\${CLAUDE_SKILL_DIR}/scripts/a.py`,
  '{baseDir}/scripts/a.py',
  `\${CLAUDE_PLUGIN_ROOT}/skills/tea/scripts/a.py`,
  `\${CLAUDE_PLUGIN_ROOT}/scripts/a.py`,
])('%s is in the folder of the skill', (text) => {
  expect(filled(`Run ${text}`)).toBe('Run /skills/tea/scripts/a.py');
});
