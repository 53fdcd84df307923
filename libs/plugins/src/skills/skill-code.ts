/** Loads the tools that a skill provides as code: `tools.ts` beside its SKILL.md. */
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

/** The file with a skill's code. */
export const codeFile = 'tools.ts';
/** MCP's limit of a tool name, without the prefix. */
const maxNameChars = 64;
const importTimeoutMs = 30_000;

type SkillCode = Pick<Skill, 'name' | 'folder' | 'files'>;
/** Like `import`; in this process or in another. */
export type ImportModule = (specifier: string) => Promise<unknown>;

/** The last result, good or bad, for each skill's folder. */
const latest = new Map<string, { version: string; tools: Promise<readonly PluginTool[]> }>();
const maxKept = 1_000;

/**
 * Loads the module's export `tools` (or its default export), with the names `<skill>_<tool>`. Returns the previous result
 * if none of the skill's files has changed. Rejects with an Error that has one line per problem.
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
    throw new Error('it must export "tools", an array of tools of the same shape as in plugins');
  const plugin = { name: 'skill', version: '1.0.0', register: () => undefined, tools };
  const validation = validatePluginExport({ plugin }, codeFile);
  if (!validation.valid) throw new Error(validation.errors.join('\n'));
  const unproven = await proveSchemas(tools);
  if (unproven.length > 0) throw new Error(unproven.join('\n'));
  return (tools as PluginTool[]).map((tool) => {
    const qualified = `${name}_${tool.name}`;
    if (qualified.length > maxNameChars)
      throw new Error(`the name ${qualified} has more than ${maxNameChars} characters`);
    if (qualified === readTool) throw new Error(`the name ${qualified} is reserved; rename the tool`);
    return { ...tool, name: qualified };
  });
}

/** Node caches a module by its URL, so the URL contains the version. Modules that it imports stay cached. */
async function importFresh(
  path: string,
  version: string,
  load: ImportModule,
): Promise<Record<string, unknown>> {
  const url = pathToFileURL(path);
  url.searchParams.set('v', version);
  const timeoutError = () => new Error(`it took longer than ${importTimeoutMs} ms to load`);
  const run = () => load(url.href) as Promise<Record<string, unknown>>;
  return withTimeLimit({ timeoutMs: importTimeoutMs, timeoutError }, run);
}
