/** Tools that a skill brings as code: `tools.ts` beside its SKILL.md. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type PluginTool, proveSchemas, validatePluginExport, withTimeLimit } from '@harness/plugin-kit';
import { readTool, type Skill } from './skill.ts';

export const codeFile = 'tools.ts';
/** MCP's own bound, with the namespace left off. */
const maxNameChars = 64;
const importTimeoutMs = 30_000;

/**
 * `tools` of the module (or its default export), named `<skill>_<tool>`. Throws an Error with all that is wrong, a line
 * each.
 */
export async function loadSkillTools({
  name,
  folder,
  files,
}: Pick<Skill, 'name' | 'folder' | 'files'>): Promise<readonly PluginTool[]> {
  const module = await importFresh(join(folder, codeFile), files);
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
async function importFresh(path: string, files: Skill['files']): Promise<Record<string, unknown>> {
  const version = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);
  const url = pathToFileURL(path);
  url.searchParams.set('v', version);
  const timeoutError = () => new Error('it takes too long to load');
  const load = () => import(url.href) as Promise<Record<string, unknown>>;
  return withTimeLimit({ timeoutMs: importTimeoutMs, timeoutError }, load);
}
