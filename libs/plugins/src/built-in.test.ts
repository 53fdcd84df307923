import { validatePluginExport } from '@harness/plugin-kit';
import { expect, test } from 'vitest';
import { builtInPlugins } from './built-in.ts';

test.each(builtInPlugins.map((plugin) => [plugin.name, plugin] as const))(
  'the built-in plugin %s is valid, its schemas compiled: a start does not compile them again',
  (name, plugin) => {
    expect(validatePluginExport({ plugin }, name)).toEqual({ valid: true, plugin });
  },
);
