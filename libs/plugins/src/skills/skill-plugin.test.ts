import { expect, test } from 'vitest';
import { loadSkills } from './content/load-skills.ts';
import { folderOf, skill } from './content/test/skill-folder.ts';
import { renderedOf } from './skill-plugin.ts';

test('arguments replace $ARGUMENTS, or are appended', async () => {
  const folder = await folderOf({
    'a/SKILL.md': skill('name: a\ndescription: x', 'Write about $ARGUMENTS, only $ARGUMENTS.'),
    'b/SKILL.md': skill('name: b\ndescription: x', 'Write.'),
    'b/more.txt': 'more',
    'c/SKILL.md': skill(
      'name: c\ndescription: x\nparameters: {type: object, properties: {city: {type: string}}}',
      'About $ARGUMENTS.',
    ),
  });
  const [a, b, c] = (await loadSkills(folder)).loaded;
  if (!a || !b || !c) throw new Error('not loaded');
  expect(renderedOf(a, { arguments: 'tea' })).toBe('Write about tea, only tea.');
  expect(renderedOf(b, { arguments: 'tea' })).toMatch(
    /^Write\.\n\nARGUMENTS: tea\n\nFiles of this skill.*\n- more\.txt \(4 bytes\)$/s,
  );
  expect(renderedOf(b, {})).not.toContain('ARGUMENTS');
  expect(renderedOf(c, { city: 'Rome' })).toBe('About {"city":"Rome"}.');
  expect(renderedOf(c, {})).toBe('About .');
});
