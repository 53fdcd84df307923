/**
 * Loads the plugins of a process: imports each module, bounds its schemas and validates its export.
 *
 * - `validate.ts`       validates a plugin and its lists
 * - `field-rules.ts`    the rules for single fields
 * - `invisible-text.ts` finds characters that models read and people do not see
 * - `uri-template.ts`   URI templates of resources
 * - `own-packages.ts`   lets a module outside this tree import plugin-kit and zod
 */
import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PluginDefinition } from '../contract/contract.ts';
import { proveSchemas } from '../schema/prove-schemas.ts';
import { textOf } from '../text-of.ts';
import { withTimeLimit } from '../tools/time-limit.ts';
import { offerOwnPackages } from './own-packages.ts';
import { exportOf, type ValidationOptions, validatePluginExport } from './validate.ts';

/** A problem with one plugin; the others run. `source` is a module path, or the name of a plugin. */
export interface Diagnostic {
  source: string;
  level: 'error' | 'warning';
  message: string;
}

/** Where to load plugins from. */
export interface PluginSources {
  /** Loaded first, in this order. */
  builtIn: readonly PluginDefinition[];
  /** Files (absolute or relative to the working directory) or package names. */
  modulePaths: readonly string[];
  importModule?: (specifier: string) => Promise<unknown>;
  /** Milliseconds, because a top-level await may never end. Default 30 000. */
  importTimeoutMs?: number;
}

/**
 * Loads all plugins. Never rejects because of a plugin: a bad one is skipped and becomes a diagnostic. When two plugins
 * have the same name, the first one keeps it.
 */
export async function loadPlugins(
  sources: PluginSources,
): Promise<{ loaded: PluginDefinition[]; diagnostics: Diagnostic[] }> {
  const { importModule = (specifier: string) => import(specifier), importTimeoutMs = 30_000 } = sources;
  const loaded: PluginDefinition[] = [];
  const diagnostics: Diagnostic[] = [];
  const report = (source: string, message: string) => diagnostics.push({ source, level: 'error', message });

  const add = (moduleExports: unknown, source: string, options?: ValidationOptions) => {
    const validation = validatePluginExport(moduleExports, source, options);
    if (!validation.valid) {
      for (const error of validation.errors) report(source, error);
      return;
    }
    const { plugin } = validation;
    if (loaded.some(({ name }) => name === plugin.name)) {
      report(
        source,
        `${source}: name: "${plugin.name}" is already used by another plugin; rename one of them`,
      );
    } else loaded.push(plugin);
  };

  if (sources.modulePaths.length > 0) offerOwnPackages();
  for (const [index, plugin] of sources.builtIn.entries()) {
    add({ plugin }, `built-in ${plugin?.name ?? index}`, { compileSchemas: false });
  }
  const timeoutError = () => new Error(`took longer than ${importTimeoutMs} ms`);
  const importPlugin = async (modulePath: string): Promise<Imported> => {
    try {
      const moduleExports = await withTimeLimit({ timeoutMs: importTimeoutMs, timeoutError }, () =>
        importModule(specifierOf(modulePath)),
      );
      return { modulePath, moduleExports, problems: await proveSchemas(toolsOf(moduleExports)) };
    } catch (thrown) {
      return { modulePath, moduleExports: undefined, problems: [`import failed: ${textOf(thrown)}`] };
    }
  };
  for (let at = 0; at < sources.modulePaths.length; at += importsAtOnce) {
    const group = sources.modulePaths.slice(at, at + importsAtOnce);
    for (const { modulePath, moduleExports, problems } of await Promise.all(group.map(importPlugin))) {
      for (const problem of problems) report(modulePath, `${modulePath}: ${problem}`);
      if (problems.length === 0) add(moduleExports, modulePath);
    }
  }
  return { loaded, diagnostics };
}

/** Modules imported together: one that never ends delays the others of its group, but not each of them. */
const importsAtOnce = 8;

/** What the import of a module gave. */
interface Imported {
  modulePath: string;
  moduleExports: unknown;
  problems: readonly string[];
}

const toolsOf = (moduleExports: unknown): unknown => {
  const plugin = exportOf(moduleExports);
  return typeof plugin === 'object' && plugin !== null && 'tools' in plugin ? plugin.tools : undefined;
};

/**
 * The import specifier of a module path. `plugins/a.ts` may be a file or a package's subpath: if such a file exists, it is
 * the file.
 */
export function specifierOf(modulePath: string): string {
  const file = resolve(modulePath);
  const isFile = isAbsolute(modulePath) || /^\.{1,2}[\\/]/.test(modulePath) || existsSync(file);
  return isFile ? pathToFileURL(file).href : modulePath;
}
