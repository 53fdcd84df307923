import { expect, it } from 'vitest';
import { loadPlugins } from '../../src/load/loader.ts';
import { proveSchemas } from '../../src/schema/prove-schemas.ts';

const toolOf = (name: string, schema: unknown, rest: object = {}) => ({
  name,
  description: 'x',
  schema,
  handler: () => 'x',
  ...rest,
});
const harmless = toolOf('harmless', { type: 'object', properties: { a: { pattern: '^a+$' } } });
/** 40 million states of RE2 in 40 KB: would take minutes and gigabytes. */
const patterns = Array.from({ length: 40 }, (_, n) => [
  `p${n}`,
  { pattern: `${n}${'[a-z]{1000}'.repeat(90)}` },
]);
const bomb = { type: 'object', properties: Object.fromEntries(patterns) };

it('reports no problem for schemas that compile, and leaves invalid ones to the validation', async () => {
  const wrong = [null, 5, {}, toolOf('a', 5), toolOf('b', { typo: 1 }), toolOf('c', { $ref: 'https://x.y' })];
  expect(await proveSchemas([harmless, ...wrong])).toEqual([]);
  expect(await proveSchemas('no list')).toEqual([]);
  const untouchable = {
    get schema(): unknown {
      throw new Error('mine');
    },
  };
  expect(await proveSchemas([untouchable])).toEqual([]);
});

it('starts no process for schemas that compile fast', async () => {
  const simple = toolOf('simple', { type: 'object', properties: { a: { type: 'string', maxLength: 5 } } });
  expect(await proveSchemas([simple], { cpuSeconds: 0 })).toEqual([]);
  expect(await proveSchemas([harmless], { cpuSeconds: 0 })).not.toEqual([]);
});

it('names the tool whose schema needs too much memory', async () => {
  expect(await proveSchemas([harmless, toolOf('bomb', bomb), harmless], { cpuSeconds: 60 })).toEqual([
    'tool "bomb": schema: needs more than 64 MB to compile',
  ]);
});

it('names the tool whose schema takes too long, and ends the process', async () => {
  const tools = [toolOf('slow', undefined, { outputSchema: bomb }), harmless];
  expect(await proveSchemas(tools, { cpuSeconds: 2, memoryMb: 4000 })).toEqual([
    'tool "slow": outputSchema: did not compile: took more than 2 s of CPU',
  ]);
});

it('disables the plugin with the bad schema; the others run', async () => {
  const pluginOf = (name: string, ...tools: object[]) => ({
    plugin: { name, version: '1', register: () => undefined, tools },
  });
  const modules: Record<string, unknown> = {
    bad: pluginOf('bad', harmless, toolOf('bomb', bomb)),
    good: pluginOf('good', harmless),
  };
  const { loaded, diagnostics } = await loadPlugins({
    builtIn: [],
    modulePaths: ['bad', 'good'],
    importModule: async (specifier) => modules[specifier],
  });
  expect(loaded.map(({ name }) => name)).toEqual(['good']);
  expect(diagnostics).toEqual([
    {
      source: 'bad',
      level: 'error',
      message: expect.stringMatching(/^bad: tool "bomb": schema: (needs|did not)/),
    },
  ]);
});
