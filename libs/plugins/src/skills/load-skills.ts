/**
 * Reads a folder of skills: each a folder with SKILL.md and further files. Never rejects for what somebody wrote: what is
 * wrong is a diagnostic with file and line, and the rest load.
 */
import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { Diagnostic } from '@harness/plugin-kit';
import { fieldsOf, lineOf } from './front-matter.ts';
import { isHidden, isWithin, levelOf, readFileWithin, readTextWithin } from './read-file-within.ts';
import { foreignNames, type Skill, SkillFields, type SkillFile, withFormatNames } from './skill.ts';
import { codeFile, type ImportModule, loadSkillTools } from './skill-code.ts';

export interface LoadedSkills {
  loaded: Skill[];
  diagnostics: Diagnostic[];
}

/** Of one skill, as clients of the skills extension expect. */
const maxFiles = 512;
const maxSkillBytes = 16 * 1024 * 1024;

export interface SkillOptions {
  /** Whether `tools.ts` beside a SKILL.md is loaded: it is code that runs in this process. */
  code: boolean;
  /** Loads it, here or in another process. */
  importCode?: ImportModule | undefined;
}

export async function loadSkills(
  directory: string,
  options: SkillOptions = { code: false },
): Promise<LoadedSkills> {
  const diagnostics: Diagnostic[] = [];
  const found: { folder: string; skill: Skill; nameLine: number; tell: Tell }[] = [];
  const report = (path: string, line: number, message: string, level: Diagnostic['level'] = 'error') => {
    const source = join(directory, path);
    diagnostics.push({ source, level, message: `${source}:${line}: ${message}` });
  };
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch (error) {
    report('', 1, `the folder of skills cannot be read: ${(error as Error).message}`, levelOf(error));
    return { loaded: [], diagnostics };
  }
  for (const { name: folder } of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (folder.startsWith('.')) continue;
    const tell = (path: string, line: number, message: string, level?: Diagnostic['level']) =>
      report(join(folder, path), line, message, level);
    const made = await loadSkill({ directory, name: folder, tell, ...options });
    if (made) found.push({ folder, tell, ...made });
  }
  // A name belongs to the folder that is called so, as the format wants it: no other can take it away.
  const owners = new Map<string, Skill>();
  const isOwn = ({ folder, skill }: (typeof found)[number]) => folder === skill.name;
  for (const { folder, skill, nameLine, tell } of [
    ...found.filter(isOwn),
    ...found.filter((one) => !isOwn(one)),
  ]) {
    const owner = owners.get(skill.name);
    if (owner) tell('SKILL.md', nameLine, `the name "${skill.name}" is taken by ${owner.place}`);
    else owners.set(skill.name, skill);
    if (!owner && folder !== skill.name)
      tell('SKILL.md', nameLine, `name: the folder should be called "${skill.name}", too`, 'warning');
  }
  return {
    loaded: found.map(({ skill }) => skill).filter((skill) => owners.get(skill.name) === skill),
    diagnostics,
  };
}

type Tell = (path: string, line: number, message: string, level?: Diagnostic['level']) => void;

async function loadSkill({
  directory,
  name,
  tell,
  code,
  importCode,
}: SkillOptions & { directory: string; name: string; tell: Tell }): Promise<
  { skill: Skill; nameLine: number } | undefined
> {
  try {
    const folder = await realpath(join(directory, name));
    if (!(await stat(folder)).isDirectory()) return undefined; // a README beside the skills
    if (!isWithin(await realpath(directory), folder)) {
      tell('', 1, 'the link leads out of the folder of skills');
      return undefined;
    }
    const text = await readTextWithin(folder, 'SKILL.md').catch((error) => error as Error);
    if (text instanceof Error) {
      tell('SKILL.md', 1, text.message, levelOf(text.cause));
      return undefined;
    }
    const said = fieldsOf(text, SkillFields, withFormatNames);
    if (Array.isArray(said)) {
      for (const { line, message } of said) tell('SKILL.md', line, message);
      return undefined;
    }
    const { fields: data, frontMatter } = said;
    for (const foreign of foreignNames(data['allowed-tools']))
      tell('SKILL.md', lineOf(text, 'allowed-tools'), `allowed-tools: ${foreign}`, 'warning');
    const files = await filesOf(folder, tell);
    const skill: Skill = {
      name: data.name,
      description: data.description,
      userInvocable: data['user-invocable'],
      modelInvocable: !data['disable-model-invocation'],
      allowedTools: data['allowed-tools'],
      argumentHint: data['argument-hint'],
      model: data.model,
      parameters: data.parameters,
      context: data.context,
      instructions: frontMatter.body.trim(),
      frontMatter: frontMatter.data,
      place: join(directory, name),
      folder,
      files,
      tools: await toolsOf({ name: data.name, folder, files, code, importCode, tell }),
    };
    return { skill, nameLine: lineOf(text, 'name') };
  } catch (error) {
    // A skill whose code is broken is broken: without its tools its instructions lead nowhere.
    const file = error instanceof BrokenCode ? codeFile : 'SKILL.md';
    for (const line of (error as Error).message.split('\n')) tell(file, 1, line);
    return undefined;
  }
}

class BrokenCode extends Error {}

async function toolsOf({
  name,
  folder,
  files,
  code,
  importCode = (specifier) => import(specifier),
  tell,
}: Pick<Skill, 'name' | 'folder' | 'files'> & SkillOptions & { tell: Tell }): Promise<Skill['tools']> {
  if (!files.some(({ path }) => path === codeFile)) return [];
  if (!code) {
    tell(codeFile, 1, 'its tools are not loaded: HARNESS_SKILLS_CODE=1 allows code of skills', 'warning');
    return [];
  }
  try {
    return await loadSkillTools({ name, folder, files }, importCode);
  } catch (thrown) {
    throw new BrokenCode(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

async function filesOf(folder: string, tell: Tell): Promise<SkillFile[]> {
  const files: SkillFile[] = [];
  let bytes = 0;
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const paths = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !isHidden(path));
  for (const path of paths.sort()) {
    try {
      const content = await readFileWithin(folder, path, maxSkillBytes);
      bytes += content.length;
      if (files.length >= maxFiles || bytes > maxSkillBytes) {
        tell(
          path,
          1,
          `more than ${maxFiles} files or ${maxSkillBytes} bytes: the rest is left out`,
          'warning',
        );
        break;
      }
      const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
      files.push({ path, size: content.length, digest });
    } catch (error) {
      tell(path, 1, (error as Error).message, 'warning');
    }
  }
  return files;
}
