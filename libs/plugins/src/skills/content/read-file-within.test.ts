import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OutsideError, readFileWithin } from './read-file-within.ts';
import { folderOf } from './test/skill-folder.ts';

test('only files inside the folder are read', async () => {
  const folder = await folderOf({ 'in/a.txt': 'a', 'out.txt': 'out' });
  const inside = join(folder, 'in');
  expect((await readFileWithin(inside, 'a.txt')).toString()).toBe('a');
  await symlink(join(folder, 'out.txt'), join(inside, 'link.txt'));
  for (const path of [
    '../out.txt',
    '../nothing',
    'a.txt/../../out.txt',
    '../../etc/passwd',
    'link.txt',
    '../in/a.txt',
    'x/../../in/a.txt',
  ])
    await expect(readFileWithin(inside, path), path).rejects.toThrow(OutsideError);
  for (const path of ['nothing', 'a.txt/more', 'a\u0000b', `${'x'.repeat(300)}`])
    await expect(readFileWithin(inside, path), path).rejects.toThrow(`there is no file ${path}`);
  await expect(readFileWithin(inside, '.')).rejects.toThrow('not a regular file');
  await expect(readFileWithin(inside, 'a.txt', 0)).rejects.toThrow('at most 0');
});
