/** Every type that a plugin author writes against has an `@example`, and all examples compile. */
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const source = (file: string) => readFileSync(join(root, file), 'utf8');
const contract = globSync('libs/plugin-kit/src/contract/*.ts', { cwd: root }).filter(
  (file) => !file.endsWith('.test.ts'),
);
const files = [...contract, 'libs/plugin-kit/src/tools/input-required.ts'];

test('every exported declaration of the contract has an example', () => {
  const without = contract.flatMap((file) =>
    [
      ...source(file).matchAll(
        /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export (?:type|interface|function|const) (\w+)/g,
      ),
    ].flatMap(([, docstring = '', name = '']) => (docstring.includes('@example') ? [] : [name])),
  );
  expect(without.filter((name) => name !== 'defineTool')).toEqual([]); // its overloads share one docstring
});

const examples = files.flatMap((file) =>
  [...source(file).matchAll(/@example\n \* ```ts\n([\s\S]*?) \* ```/g)].map(([, code = '']) =>
    code.replaceAll(/^ \* ?/gm, ''),
  ),
);

/** An example as a function, in which the names are known that examples do not declare themselves. */
const asFunction = (code: string, index: number): string => {
  const fragment = /^(handler|register): /.exec(code)?.[1];
  const owner = fragment === 'register' ? 'kit.PluginDefinition' : 'kit.PluginTool';
  const body =
    fragment === undefined
      ? code.replaceAll(/^export /gm, '')
      : `const example: Pick<${owner}, '${fragment}'> = {\n${code}};\n`;
  const known = 'ctx: kit.PluginContext, meta: kit.PluginToolMeta, forecast: kit.PluginTool, text: string';
  return `export async function example${index}(${known}): Promise<unknown> {\n{\n${body}}\nreturn undefined;\n}\n`;
};

test('the examples compile', { timeout: 60_000 }, async () => {
  const folder = join(root, 'node_modules/.cache/contract-examples');
  await mkdir(folder, { recursive: true });
  const types = [
    ...new Set(contract.flatMap((file) => [...source(file).matchAll(/^export (?:type|interface) (\w+)/gm)])),
  ]
    .map(([, name]) => name)
    .filter((name) => name !== 'ZodTool');
  await writeFile(
    join(folder, 'examples.ts'),
    `import type * as kit from '@harness/plugin-kit';
import type { ${types.join(', ')}, ZodTool } from '@harness/plugin-kit';
import { defineCommand, definePlugin, defineTool, needInput } from '@harness/plugin-kit';
import { z } from 'zod';
${examples.map(asFunction).join('\n')}`,
  );
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: '../../../tsconfig.json',
      compilerOptions: { incremental: false },
      include: ['examples.ts'],
      exclude: [],
    }),
  );
  expect(examples.length).toBeGreaterThan(40);
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const compiled = promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch(({ stdout }) => stdout);
  expect(await compiled).toMatchObject({ stdout: '' });
});
