/** The documents of this repository: their links are valid, and their code runs or at least parses. */
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { loadPlugins } from '@harness/plugin-kit';
import { expect, onTestFinished, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { openFleet } from '../open-fleet.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const documents = [
  'README.md',
  '.github/CONTRIBUTING.md',
  ...globSync('{libs,services}/*/README.md', { cwd: root }),
];

interface Block {
  document: string;
  language: string;
  code: string;
}

const textOf = (document: string) => readFileSync(join(root, document), 'utf8');
const blocks: Block[] = documents.flatMap((document) =>
  [...textOf(document).matchAll(/^ *(`{3,})(\w+)\n([\s\S]*?)^ *\1$/gm)].map(
    ([, , language = '', code = '']) => ({
      document,
      language,
      code,
    }),
  ),
);
const blockWith = (text: string): string => blocks.find(({ code }) => code.includes(text))?.code ?? '';

/** How a block is parsed that is not run. The tests below name what is run; compose, backups and a model's key are left out. */
const readers: Record<string, (block: Block) => unknown> = {
  sh: ({ code }) => run('bash', ['-n', '-c', code]),
  ts: ({ code }) => stripTypeScriptTypes(asStatements(code)),
  js: ({ code }) => new Function(asStatements(code)),
  json: ({ code }) => JSON.parse(code),
  yaml: ({ code }) => parseYaml(code),
  markdown: ({ code }) => parseYaml(code.split('---')[1] ?? ''),
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

test.each(blocks.map((block) => [block.document, block.code.split('\n')[0], block] as const))(
  '%s: the code "%s" reads',
  async (_document, _line, block) => {
    expect(Object.keys(readers)).toContain(block.language);
    await readers[block.language]?.(block);
  },
);

test('the commands of the README, of the bus and of the terminal run', { timeout: 120_000 }, async () => {
  const fleet = await openFleet();
  const shell = async (script: string) => {
    const here = script
      .replaceAll('http://127.0.0.1:8080', fleet.url)
      .replaceAll('npm run -s chat --', 'node services/client/src/chat/main.ts')
      .replaceAll('npm run -s chat ', 'node services/client/src/chat/main.ts ')
      .replaceAll(/ \| jq \.|; curl -sN \$bus\/events\?follow=true/g, '');
    const env = { PATH: process.env.PATH, HARNESS_URL: fleet.url };
    return (await run('bash', ['-e', '-c', here], { cwd: root, env })).stdout;
  };
  expect(await shell(blockWith('"threadId":"hello"'))).toContain('"status":"success"');
  const bus = await shell(blockWith('bus=http://'));
  expect(bus).toContain('"state":"done"');
  expect(await shell(blockWith('What time is it?'))).toContain('You said: What time is it?');
  expect(await shell(blockWith('order-17').replace('threads/user-42', 'threads/hello'))).toContain('runId');
});

test('the plugin of the guide loads unchanged', async () => {
  const file = join(root, 'node_modules/.cache/guide-plugin.ts');
  await writeFile(file, blockWith('weather__forecast'));
  onTestFinished(() => writeFile(file, ''));
  const { loaded, diagnostics } = await loadPlugins({ builtIn: [], modulePaths: [file] });
  expect(diagnostics).toEqual([]);
  expect(loaded.map(({ name, tools = [] }) => [name, tools.length])).toEqual([['weather', 1]]);
});
