/**
 * Reads a skills folder: each skill is a folder with SKILL.md and further files. A skill with an error becomes a diagnostic
 * with file and line, and the other skills load.
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

/** What was loaded, and what was wrong. */
export interface LoadedSkills {
  loaded: Skill[];
  diagnostics: Diagnostic[];
}

/** Limits of one skill, as clients of the skills extension expect. */
const maxFiles = 512;
const maxSkillBytes = 16 * 1024 * 1024;

/** How to load skills. */
export interface SkillOptions {
  /** Whether to load `tools.ts` beside a SKILL.md, which is code. */
  code: boolean;
  /** Imports `tools.ts`. Default: in this process. */
  importCode?: ImportModule | undefined;
}

/** Reads the folder. Never rejects because of its content. */
export async function loadSkills(
  directory: string,
  options: SkillOptions = { code: false },
): Promise<LoadedSkills> {
  const diagnostics: Diagnostic[] = [];
  const found: { folder: string; skill: Skill; nameLine: number; report: Report }[] = [];
  const report = ({ path, line }: At, message: string, level: Diagnostic['level'] = 'error') => {
    const source = join(directory, path);
    diagnostics.push({ source, level, message: `${source}:${line}: ${message}` });
  };
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch (error) {
    report(
      { path: '', line: 1 },
      `the skills folder cannot be read: ${(error as Error).message}`,
      levelOf(error),
    );
    return { loaded: [], diagnostics };
  }
  for (const { name: folder } of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (folder.startsWith('.')) continue;
    const reportHere: Report = ({ path, line }, message, level) =>
      report({ path: join(folder, path), line }, message, level);
    const made = await loadSkill({ directory, name: folder, report: reportHere, ...options });
    if (made) found.push({ folder, report: reportHere, ...made });
  }
  // If several skills have the same name, the one in the folder of that name keeps it, as the format requires.
  const owners = new Map<string, Skill>();
  const isOwn = ({ folder, skill }: (typeof found)[number]) => folder === skill.name;
  for (const { folder, skill, nameLine, report } of [
    ...found.filter(isOwn),
    ...found.filter((one) => !isOwn(one)),
  ]) {
    const owner = owners.get(skill.name);
    if (owner)
      report({ path: 'SKILL.md', line: nameLine }, `the name "${skill.name}" is taken by ${owner.place}`);
    else owners.set(skill.name, skill);
    if (!owner && folder !== skill.name)
      report(
        { path: 'SKILL.md', line: nameLine },
        `name: the folder must have the same name: rename it to "${skill.name}"`,
        'warning',
      );
  }
  return {
    loaded: found.map(({ skill }) => skill).filter((skill) => owners.get(skill.name) === skill),
    diagnostics,
  };
}

interface At {
  path: string;
  line: number;
}
type Report = (at: At, message: string, level?: Diagnostic['level']) => void;

async function loadSkill({
  directory,
  name,
  report,
  code,
  importCode,
}: SkillOptions & { directory: string; name: string; report: Report }): Promise<
  { skill: Skill; nameLine: number } | undefined
> {
  try {
    const folder = await realpath(join(directory, name));
    if (!(await stat(folder)).isDirectory()) return undefined; // a README beside the skills
    if (!isWithin(await realpath(directory), folder)) {
      report({ path: '', line: 1 }, 'the link points outside the skills folder');
      return undefined;
    }
    const text = await readTextWithin(folder, 'SKILL.md').catch((error) => error as Error);
    if (text instanceof Error) {
      report({ path: 'SKILL.md', line: 1 }, text.message, levelOf(text.cause));
      return undefined;
    }
    const parsed = fieldsOf(text, SkillFields, withFormatNames);
    if (Array.isArray(parsed)) {
      for (const { line, message } of parsed) report({ path: 'SKILL.md', line }, message);
      return undefined;
    }
    const { fields: data, frontMatter } = parsed;
    for (const foreign of foreignNames(data['allowed-tools']))
      report(
        { path: 'SKILL.md', line: lineOf(text, 'allowed-tools') },
        `allowed-tools: ${foreign}`,
        'warning',
      );
    const files = await filesOf(folder, report);
    const skill: Skill = {
      name: data.name,
      description: data.description,
      userInvocable: data['user-invocable'],
      modelInvocable: !data['disable-model-invocation'],
      allowedTools: data['allowed-tools'],
      argumentHint: data['argument-hint'],
      model: data.model,
      parameters: data.parameters,
      tenants: data.tenants,
      context: data.context,
      instructions: frontMatter.body.trim(),
      frontMatter: frontMatter.data,
      place: join(directory, name),
      folder,
      files,
      tools: await toolsOf({ name: data.name, folder, files, code, importCode, report }),
    };
    return { skill, nameLine: lineOf(text, 'name') };
  } catch (error) {
    // Broken code makes the whole skill fail, because its instructions need its tools.
    const file = error instanceof BrokenCode ? codeFile : 'SKILL.md';
    for (const line of (error as Error).message.split('\n')) report({ path: file, line: 1 }, line);
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
  report,
}: Pick<Skill, 'name' | 'folder' | 'files'> & SkillOptions & { report: Report }): Promise<Skill['tools']> {
  if (!files.some(({ path }) => path === codeFile)) return [];
  if (!code) {
    report(
      { path: codeFile, line: 1 },
      'its tools are not loaded; set HARNESS_SKILLS_CODE=1 to allow code in skills',
      'warning',
    );
    return [];
  }
  try {
    return await loadSkillTools({ name, folder, files }, importCode);
  } catch (thrown) {
    throw new BrokenCode(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

async function filesOf(folder: string, report: Report): Promise<SkillFile[]> {
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
        report(
          { path, line: 1 },
          `more than ${maxFiles} files or ${maxSkillBytes} bytes: this file and the following ones are left out`,
          'warning',
        );
        break;
      }
      const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
      files.push({ path, size: content.length, digest });
    } catch (error) {
      report({ path, line: 1 }, (error as Error).message, 'warning');
    }
  }
  return files;
}
