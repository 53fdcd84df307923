import { expect, it } from 'vitest';
import type { PluginDefinition } from '../contract/contract.ts';
import { loadPlugins } from './loader.ts';

const plugin = (name: string): PluginDefinition => ({ name, version: '1', register: () => ({}) });

/** Modules by specifier. */
const importFrom = (modules: Record<string, unknown>) => async (specifier: string) => {
  if (!(specifier in modules)) throw new Error(`Cannot find ${specifier}`);
  return modules[specifier];
};
const namesOf = ({ loaded }: { loaded: PluginDefinition[] }) => loaded.map(({ name }) => name);

it('loads built-ins first, then modules, and survives the bad ones', async () => {
  const result = await loadPlugins({
    builtIn: [plugin('time'), { ...plugin('BAD'), name: 'BAD name', version: '' }],
    modulePaths: ['missing', 'broken', 'good'],
    importModule: importFrom({
      broken: { plugin: { ...plugin('broken'), tools: [{}] } },
      good: { default: plugin('good') },
    }),
  });
  expect(namesOf(result)).toEqual(['time', 'good']);
  const messagesOf = (source: string) =>
    result.diagnostics.filter((each) => each.source === source).map(({ message }) => message);
  expect(messagesOf('built-in BAD name')).toHaveLength(2);
  expect(messagesOf('missing')).toEqual(['missing: import failed: Cannot find missing']);
  expect(messagesOf('broken')).toHaveLength(4);
  expect(messagesOf('broken')[0]).toContain('broken: tools[0].name: ');
  expect(result.diagnostics.every(({ level }) => level === 'error')).toBe(true);
});

it('the first plugin with a name keeps it', async () => {
  const result = await loadPlugins({
    builtIn: [plugin('time')],
    modulePaths: ['other'],
    importModule: importFrom({ other: { plugin: plugin('time') } }),
  });
  expect(namesOf(result)).toEqual(['time']);
  expect(result.diagnostics).toEqual([
    {
      source: 'other',
      level: 'error',
      message: 'other: name: "time" is already used by another plugin; rename one of them',
    },
  ]);
});

it('imports modules together: those that never finish loading cost their time limit once', async () => {
  const met = Promise.withResolvers<void>();
  const result = await loadPlugins({
    builtIn: [],
    modulePaths: ['waits', 'meets'],
    importModule: async (specifier) => {
      if (specifier === 'meets') met.resolve();
      await met.promise;
      return { plugin: plugin(specifier) };
    },
    importTimeoutMs: 1_000,
  });
  expect(namesOf(result)).toEqual(['waits', 'meets']);
});

it('does not wait for a module that never finishes loading', async () => {
  const result = await loadPlugins({
    builtIn: [],
    modulePaths: ['hangs', 'good'],
    importModule: (specifier) =>
      specifier === 'hangs' ? new Promise(() => {}) : Promise.resolve({ plugin: plugin('good') }),
    importTimeoutMs: 10,
  });
  expect(namesOf(result)).toEqual(['good']);
  expect(result.diagnostics[0]?.message).toContain('hangs: import failed: took longer');
});
