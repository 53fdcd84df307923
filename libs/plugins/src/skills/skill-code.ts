/** Tools that a skill brings as code: `tools.ts` beside its SKILL.md. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  offerOwnPackages,
  type PluginTool,
  proveSchemas,
  validatePluginExport,
  withTimeLimit,
} from '@harness/plugin-kit';
import { readTool, type Skill } from './skill.ts';

export const codeFile = 'tools.ts';
/** MCP's own bound, with the namespace left off. */
const maxNameChars = 64;
const importTimeoutMs = 30_000;

type SkillCode = Pick<Skill, 'name' | 'folder' | 'files'>;
/** As `import`, here or in another process. */
export type ImportModule = (specifier: string) => Promise<unknown>;

/** What came of each skill's code last, good or bad. */
const latest = new Map<string, { version: string; tools: Promise<readonly PluginTool[]> }>();
const maxKept = 1_000;

/**
 * `tools` of the module (or its default export), named `<skill>_<tool>`; the same as before where none of the skill's
 * files has changed. Throws an Error with all that is wrong, a line each.
 */
export function loadSkillTools(code: SkillCode, load: ImportModule): Promise<readonly PluginTool[]> {
  const { name, folder, files } = code;
  const version = createHash('sha256')
    .update(JSON.stringify([name, files]))
    .digest('hex');
  const known = latest.get(folder);
  if (known?.version === version) return known.tools;
  const tools = loadAnew(code, version, load);
  if (latest.size >= maxKept) latest.clear();
  latest.set(folder, { version, tools });
  return tools;
}

async function loadAnew(
  { name, folder }: SkillCode,
  version: string,
  load: ImportModule,
): Promise<readonly PluginTool[]> {
  offerOwnPackages();
  const module = await importFresh(join(folder, codeFile), version, load);
  const tools = module.tools ?? module.default;
  if (!Array.isArray(tools))
    throw new Error('it must export "tools", an array of tools as plugins have them');
  const plugin = { name: 'skill', version: '1.0.0', register: () => undefined, tools };
  const validation = validatePluginExport({ plugin }, codeFile);
  if (!validation.valid) throw new Error(validation.errors.join('\n'));
  const unproven = await proveSchemas(tools);
  if (unproven.length > 0) throw new Error(unproven.join('\n'));
  return (tools as PluginTool[]).map((tool) => {
    const qualified = `${name}_${tool.name}`;
    if (qualified.length > maxNameChars)
      throw new Error(`the name ${qualified} has more than ${maxNameChars} characters`);
    if (qualified === readTool) throw new Error(`the name ${qualified} is taken`);
    return { ...tool, name: qualified };
  });
}

/** A module stays what it was for as long as it has one address; what it imports in turn keeps its own. */
async function importFresh(
  path: string,
  version: string,
  load: ImportModule,
): Promise<Record<string, unknown>> {
  const url = pathToFileURL(path);
  url.searchParams.set('v', version);
  const timeoutError = () => new Error('it takes too long to load');
  const run = () => load(url.href) as Promise<Record<string, unknown>>;
  return withTimeLimit({ timeoutMs: importTimeoutMs, timeoutError }, run);
}
