/** The documents: their links are valid, and their code is what ../code-blocks.ts says of it. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { type CodeBlock, codeBlocks } from '../code-blocks.ts';
import { type Block, blocks, documents, root, textOf } from '../documents.ts';

const run = promisify(execFile);
const isOf = (block: Block, { document, has }: CodeBlock) =>
  block.document === document && block.code.includes(has);

/** The parsers of languages. */
const readers: Record<string, (block: Block) => unknown> = {
  sh: ({ code }) => run('bash', ['-n', '-c', code]),
  js: ({ code }) => new Function(asStatements(code)),
  json: ({ code }) => JSON.parse(code),
  mermaid: ({ code }) => expect(code).toMatch(/^sequenceDiagram\n/),
  text: () => undefined,
};

/** The code inside an async function, without its imports; a fragment of an object literal as a literal. */
const asStatements = (code: string): string => {
  const body = code.replace(/^\s*import .*$/gm, '').replace(/^export /gm, '');
  const isFragment = /^(\s*\/\/.*\n)*\s*\w+: /.test(body);
  return `async function example() { ${isFragment ? `({${body}})` : body}\n}`;
};

test('every link of a document points to a file of the repository, and to a heading in it', () => {
  const broken = documents.flatMap((document) =>
    [...textOf(document).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].flatMap(([, link = '']) => {
      const [path = '', heading] = link.split('#');
      const target = path === '' ? document : join(dirname(document), path);
      if (!existsSync(join(root, target))) return [`${document}: ${link}`];
      const anchors = [...textOf(target).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => anchorOf(title));
      return heading === undefined || anchors.includes(heading) ? [] : [`${document}: ${link}`];
    }),
  );
  expect(broken).toEqual([]);
});

const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

test('README.md is short', () => {
  expect(Buffer.byteLength(textOf('README.md'))).toBeLessThan(9 * 1024);
});

test('the list of code blocks names every block once, and no other', () => {
  const listedTimes = (block: Block) => codeBlocks.filter((entry) => isOf(block, entry)).length;
  expect(blocks.filter((block) => listedTimes(block) !== 1)).toEqual([]);
  expect(codeBlocks.filter((entry) => blocks.filter((block) => isOf(block, entry)).length !== 1)).toEqual([]);
});

const packed = (code: string) => code.replaceAll(/\s+/g, ' ').trim();

test.each(codeBlocks)('$document, the code with $has: as listed', async (entry) => {
  const block = blocks.find((one) => isOf(one, entry)) as Block;
  const { check } = entry;
  if ('quotes' in check) expect(packed(textOf(check.quotes))).toContain(packed(block.code));
  else if ('parses' in check) await (readers[block.language] as (block: Block) => unknown)(block);
  else expect(textOf(check.runs)).toContain(entry.has); // that test names the block
});
