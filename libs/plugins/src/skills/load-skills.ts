/**
 * Reads a folder of skills: each a folder with SKILL.md and further files. Never rejects for what somebody wrote: what is
 * wrong is a diagnostic with file and line, and the rest load.
 */
import { createHash } from 'node:crypto';
import { type Dirent, constants as flags } from 'node:fs';
import { type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { Diagnostic } from '@harness/plugin-kit';
import { lineOf, parseFrontMatter } from './front-matter.ts';
import { type Skill, SkillFields, type SkillFile, withFormatNames } from './skill.ts';

export interface LoadedSkills {
  loaded: Skill[];
  diagnostics: Diagnostic[];
}

/** Of SKILL.md, and of any file that a tool hands out, bytes. */
export const maxFileBytes = 256 * 1024;
/** Of one skill, as clients of the skills extension expect. */
const maxFiles = 512;
const maxSkillBytes = 16 * 1024 * 1024;

export async function loadSkills(directory: string): Promise<LoadedSkills> {
  const diagnostics: Diagnostic[] = [];
  const loaded = new Map<string, Skill>();
  const report = (path: string, line: number, message: string, level: Diagnostic['level'] = 'error') => {
    const source = join(directory, path);
    diagnostics.push({ source, level, message: `${source}:${line}: ${message}` });
  };
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch (error) {
    report('', 1, `the folder of skills cannot be read: ${(error as Error).message}`);
    return { loaded: [], diagnostics };
  }
  for (const { name: folder } of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (folder.startsWith('.')) continue;
    const tell = (path: string, line: number, message: string, level?: Diagnostic['level']) =>
      report(join(folder, path), line, message, level);
    const skill = await loadSkill(directory, folder, tell);
    if (!skill) continue;
    const known = loaded.get(skill.name);
    if (known) tell('SKILL.md', 1, `the name "${skill.name}" is taken by ${known.folder}`);
    else loaded.set(skill.name, skill);
  }
  return { loaded: [...loaded.values()], diagnostics };
}

type Tell = (path: string, line: number, message: string, level?: Diagnostic['level']) => void;

async function loadSkill(directory: string, name: string, tell: Tell): Promise<Skill | undefined> {
  try {
    const folder = await realpath(join(directory, name));
    if (!(await stat(folder)).isDirectory()) return undefined; // a README beside the skills
    if (!isWithin(await realpath(directory), folder)) {
      tell('', 1, 'the link leads out of the folder of skills');
      return undefined;
    }
    const text = (await readFileWithin(folder, 'SKILL.md')).toString('utf8');
    const parsed = parseFrontMatter(text);
    if ('message' in parsed) {
      tell('SKILL.md', parsed.line, parsed.message);
      return undefined;
    }
    const fields = SkillFields.safeParse(withFormatNames(parsed.data));
    if (!fields.success) {
      for (const { path, message } of fields.error.issues) {
        const field = String(path[0] ?? '');
        tell('SKILL.md', lineOf(text, field), `${field}: ${message}`);
      }
      return undefined;
    }
    const { data } = fields;
    return {
      name: data.name,
      description: data.description,
      userInvocable: data['user-invocable'],
      allowedTools: data['allowed-tools'],
      argumentHint: data['argument-hint'],
      model: data.model,
      parameters: data.parameters,
      context: data.context,
      instructions: parsed.body.trim(),
      frontMatter: parsed.data,
      folder,
      files: await filesOf(folder, tell),
    };
  } catch (error) {
    tell('SKILL.md', 1, (error as Error).message);
    return undefined;
  }
}

async function filesOf(folder: string, tell: Tell): Promise<SkillFile[]> {
  const files: SkillFile[] = [];
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isDirectory()) continue;
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/');
    try {
      const content = await readFileWithin(folder, path, maxSkillBytes);
      bytes += content.length;
      if (files.length >= maxFiles || bytes > maxSkillBytes)
        throw new Error(`more than ${maxFiles} files or ${maxSkillBytes} bytes: the rest is left out`);
      const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
      files.push({ path, size: content.length, digest });
    } catch (error) {
      tell(path, 1, (error as Error).message, 'warning');
    }
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}

const isWithin = (folder: string, path: string) => path === folder || path.startsWith(`${folder}${sep}`);

/**
 * A regular file below the folder, at most so large. What is read is what was opened: the path is resolved after that,
 * and must lead to the same file. Throws an Error whose message may be shown.
 */
export async function readFileWithin(folder: string, path: string, limit = maxFileBytes): Promise<Buffer> {
  let file: FileHandle;
  try {
    // Not to wait for the other end of a pipe.
    file = await open(join(folder, path), flags.O_RDONLY | flags.O_NONBLOCK);
  } catch {
    throw new Error(`there is no file ${path}`);
  }
  try {
    const opened = await file.stat();
    if (!opened.isFile()) throw new Error(`${path} is no regular file`);
    const resolved = await realpath(join(folder, path));
    const found = await stat(resolved);
    if (!isWithin(folder, resolved) || found.ino !== opened.ino || found.dev !== opened.dev)
      throw new Error(`${path} leads out of the skill's folder`);
    if (opened.size > limit) throw new Error(`${path} has ${opened.size} bytes; at most ${limit} are read`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
