/** Plugins in files, imported by Node itself: inside this process the test runner would import them. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'plugins-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Names of the plugins that a Node process loads from these modules, and the diagnostics. */
async function loadInNode(modulePaths: readonly string[]) {
  const code = `import { loadPlugins } from '@harness/plugin-kit';
    const { loaded, diagnostics } = await loadPlugins({ builtIn: [], modulePaths: JSON.parse(process.argv[1]) });
    console.log(JSON.stringify({ names: loaded.map(({ name }) => name), diagnostics }));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    code,
    JSON.stringify(modulePaths),
  ]);
  return JSON.parse(stdout);
}

it('imports files by absolute and relative path, and packages by name', async () => {
  const write = (name: string) => {
    const file = join(folder, `${name}.mjs`);
    writeFileSync(file, `export const plugin = { name: '${name}', version: '1', register() {} };`);
    return file;
  };
  const bare = relative(process.cwd(), write('bare'));
  expect(await loadInNode([write('absolute'), bare, '@harness/contracts'])).toEqual({
    names: ['absolute', 'bare'],
    diagnostics: [
      {
        source: '@harness/contracts',
        level: 'error',
        message: expect.stringContaining('export: must be'),
      },
    ],
  });
});

it('lets a module in any folder import plugin-kit and zod', async () => {
  const path = join(folder, 'anywhere.ts');
  writeFileSync(
    path,
    `import { definePlugin, defineTool } from '@harness/plugin-kit';
    import { z } from 'zod';
    const greet = defineTool({ name: 'greet', description: 'Greets', input: z.object({}), handler: () => 'hello' });
    export const plugin = definePlugin({ name: 'anywhere', version: '1', tools: [greet], register: () => ({}) });`,
  );
  expect(await loadInNode([path])).toEqual({ names: ['anywhere'], diagnostics: [] });
});
