/** A folder of three or more source files has a map of its files and folders, at the head of one of them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../../../../', import.meta.url).pathname;
const files = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', 'libs', 'services'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .trim()
  .split('\n')
  .filter((file) => file.includes('/src/'));
const isSource = (file: string) => /\.(ts|tsx|lua)$/.test(file) && !/\.test\.tsx?$/.test(file);

const foldersOfSources = [...new Set(files.filter(isSource).map(dirname))];
const sourcesIn = (folder: string) => files.filter((file) => dirname(file) === folder && isSource(file));
/** The names of the folders directly below one, `redis/`. */
const foldersIn = (folder: string) => [
  ...new Set(
    files
      .filter((file) => file.startsWith(`${folder}/`))
      .map((file) => file.slice(folder.length + 1).split('/'))
      .flatMap(([name, ...below]) => (below.length > 0 ? [`${name}/`] : [])),
  ),
];

const headOf = (file: string) =>
  /^\/\*\*[\s\S]*?\*\//.exec(readFileSync(join(root, file), 'utf8'))?.[0] ?? '';
/** The names that the lines of a map begin with: ` *   fair.lua, want.lua  text` or ` * - \`fair.lua\` text`. */
const namesInMap = (head: string) =>
  head.split('\n').flatMap((line) => {
    const names = /^ \* +(?:- )?((?:`?[\w.-]+(?:\.tsx?|\.lua|\/)`?(?:, | ))+)/.exec(`${line} `)?.[1] ?? '';
    return names.replaceAll('`', '').split(/[, ]+/).filter(Boolean);
  });

const isNamedIn = (head: string, name: string) =>
  head.split(/[\s`,:;()]+/).some((word) => word.startsWith(name));

/** What the best map of a folder lacks, and what it names that is not there. */
function differencesOf(folder: string) {
  const sources = sourcesIn(folder);
  const below = foldersIn(folder);
  const maps = sources.map((file) => {
    const head = headOf(file);
    const expected = [...sources.filter((other) => other !== file).map((other) => basename(other)), ...below];
    return {
      lacks: expected.filter((name) => !isNamedIn(head, name)),
      invents: namesInMap(head).filter((name) => !expected.includes(name) && name !== basename(file)),
    };
  });
  return maps.toSorted((one, other) => one.lacks.length - other.lacks.length)[0];
}

test('every map names the files and folders beside it, and no others', () => {
  const mapped = foldersOfSources.filter((folder) => sourcesIn(folder).length >= 3);
  expect(mapped.length).toBeGreaterThan(50);
  const wrong = mapped.flatMap((folder) => {
    const { lacks = [], invents = [] } = differencesOf(folder) ?? {};
    return lacks.length + invents.length > 0 ? [{ folder, lacks, invents }] : [];
  });
  expect(wrong).toEqual([]);
});
