import type { ListedFile } from '@harness/contracts';
import { expect, test } from 'vitest';
import { nodeAt, rowsOf, treeOf } from './file-tree.ts';

const file = (path: string, size = 1): ListedFile => ({ path, kind: 'file', size });
const shown = (files: ListedFile[], isOpen: (path: string) => boolean) =>
  rowsOf(treeOf(files), isOpen).map(({ node, level }) => `${'  '.repeat(level - 1)}${node.name}`);

test('folders stand first, in the order of their names, and are listed, named by paths, or empty', () => {
  const files: ListedFile[] = [
    file('b.txt'),
    file('a.txt'),
    file('src/deep/x.ts', 5),
    file('src/y.ts', 2),
    { path: 'empty', kind: 'dir' },
    { path: 'src', kind: 'dir' },
    { path: 'link', kind: 'symlink', target: 'a.txt' },
  ];
  expect(shown(files, () => true)).toEqual([
    'empty',
    'src',
    '  deep',
    '    x.ts',
    '  y.ts',
    'a.txt',
    'b.txt',
    'link',
  ]);
  expect(shown(files, (path) => path === 'src')).toEqual([
    'empty',
    'src',
    '  deep',
    '  y.ts',
    'a.txt',
    'b.txt',
    'link',
  ]);
  const tree = treeOf(files);
  expect(tree).toMatchObject({ size: 9, count: 5 });
  expect(nodeAt(tree, 'src')).toMatchObject({ size: 7, count: 2, file: { kind: 'dir' } });
  expect(nodeAt(tree, 'src/deep/x.ts')).toMatchObject({ kind: 'file', size: 5 });
  expect([nodeAt(tree, 'src/none/x.ts'), nodeAt(tree, 'a.txt/b')]).toEqual([undefined, undefined]);
});

test('each row has its position among its siblings', () => {
  const rows = rowsOf(treeOf([file('d/1'), file('d/2'), file('e')]), () => true);
  expect(rows.map(({ place, siblings }) => [place, siblings])).toEqual([
    [1, 2],
    [1, 2],
    [2, 2],
    [2, 2],
  ]);
});
