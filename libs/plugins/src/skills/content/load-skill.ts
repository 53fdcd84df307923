import { createHash } from 'node:crypto';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { Diagnostic } from '@harness/plugin-kit';
import type { z } from 'zod';
import { foreignNames, rootOf, type Skill, SkillFields, type SkillFile, withFormatNames } from '../skill.ts';
import { codeFile, type ImportModule, loadSkillTools } from '../skill-code.ts';
import { embeddedCommandsIn } from './embedded-commands.ts';
import { mainFile } from './find-content.ts';
import { type FrontMatter, fieldsOf, fieldsOfAny, lineOf } from './front-matter.ts';
import { lenient, slugOf } from './lenient.ts';
import { isHidden, isWithin, levelOf, readFileWithin, readTextWithin } from './read-file-within.ts';

/** Limits of one skill, as clients of the skills extension expect. */
const maxFiles = 512;
const maxSkillBytes = 16 * 1024 * 1024;

/** How to load skills. */
export interface SkillOptions {
  /** Whether to load `tools.ts` beside a SKILL.md, which is code. */
  code: boolean;
  /** Imports `tools.ts`. Default: in this process. */
  importCode?: ImportModule | undefined;
  /** Whether threads may have workspaces, and so built-in tools. Default: no. */
  workspaces?: boolean | undefined;
}

/** A line of a file of the skill. */
export interface At {
  path: string;
  line: number;
}
/** Adds a diagnostic. */
export type Report = (at: At, message: string, level?: Diagnostic['level']) => void;

/** Loads one skill. Undefined: it has an error, which is reported. */
export async function loadSkill({
  directory,
  name,
  report,
  code,
  importCode,
  workspaces,
}: SkillOptions & { directory: string; name: string; report: Report }): Promise<
  { skill: Skill; nameLine: number } | undefined
> {
  try {
    const folder = await realpath(join(directory, name));
    if (!(await stat(folder)).isDirectory()) return undefined;
    if (!isWithin(await realpath(directory), folder)) {
      report({ path: '', line: 1 }, 'the link points outside the skills folder');
      return undefined;
    }
    const main = (await readdir(folder)).find((file) => mainFile.test(file)) ?? 'SKILL.md';
    const text = await readTextWithin(folder, main).catch((error) => error as Error);
    if (text instanceof Error) {
      report({ path: 'SKILL.md', line: 1 }, text.message, levelOf(text.cause));
      return undefined;
    }
    const repair = lenient({ name: basename(folder) });
    const parsed = fieldsOf(text, SkillFields, (data, body) => repair(withFormatNames(data), body));
    if (Array.isArray(parsed)) {
      for (const { line, message } of parsed) report({ path: 'SKILL.md', line }, message);
      return undefined;
    }
    for (const { line, message } of parsed.notes) report({ path: 'SKILL.md', line }, message, 'warning');
    const { fields, frontMatter } = parsed;
    const foreign = foreignNames(fields['allowed-tools'], workspaces);
    if (foreign)
      report(
        { path: 'SKILL.md', line: lineOf(text, 'allowed-tools') },
        `allowed-tools: ${foreign}`,
        'warning',
      );
    const files = await filesOf(folder, report);
    const skill: Skill = {
      ...skillOf(fields, frontMatter),
      place: join(directory, name),
      folder,
      files,
      tools: await toolsOf({ name: fields.name, folder, files, code, importCode, report }),
    };
    return { skill, nameLine: lineOf(text, 'name') };
  } catch (error) {
    // Broken code makes the whole skill fail, because its instructions need its tools.
    const file = error instanceof BrokenCode ? codeFile : 'SKILL.md';
    for (const line of (error as Error).message.split('\n')) report({ path: file, line: 1 }, line);
    return undefined;
  }
}

const skillOf = (
  fields: z.infer<typeof SkillFields>,
  { body, data }: FrontMatter,
): Omit<Skill, 'place' | 'folder' | 'files' | 'tools'> => ({
  kind: 'skill',
  name: fields.name,
  description: fields.description,
  userInvocable: fields['user-invocable'],
  modelInvocable: !fields['disable-model-invocation'],
  allowedTools: fields['allowed-tools'],
  argumentHint: fields['argument-hint'],
  model: fields.model,
  parameters: fields.parameters,
  tenants: fields.tenants,
  context: fields.context,
  instructions: body.trim(),
  commands: embeddedCommandsIn(body.trim(), rootOf(fields)),
  frontMatter: data,
});

/** Loads a command: a Markdown file whose name is the command's, and whose front matter is optional. */
export async function loadCommand(
  directory: string,
  path: string,
  { report, workspaces }: { report: Report; workspaces?: boolean | undefined },
): Promise<{ skill: Skill; nameLine: number } | undefined> {
  const file = basename(path);
  if (/^readme\.md$/i.test(file)) return undefined;
  const at = (line: number) => ({ path: '', line });
  try {
    const folder = await realpath(join(directory, dirname(path)));
    const text = await readTextWithin(folder, file);
    const name = slugOf(file.replace(/\.md$/i, ''));
    const repair = lenient({ name });
    // The file's name is the command's, whatever the front matter says.
    const parsed = fieldsOfAny(text, SkillFields, (data, body) =>
      repair(
        { ...withFormatNames(data), name, description: data.description ?? `The command ${name}` },
        body,
      ),
    );
    if (Array.isArray(parsed)) {
      for (const { line, message } of parsed) report(at(line), message);
      return undefined;
    }
    const { fields, frontMatter, notes } = parsed;
    for (const { line, message } of notes) report(at(line), message, 'warning');
    const foreign = foreignNames(fields['allowed-tools'], workspaces);
    if (foreign) report(at(lineOf(text, 'allowed-tools')), `allowed-tools: ${foreign}`, 'warning');
    const skill: Skill = {
      ...skillOf(fields, frontMatter),
      kind: 'command',
      userInvocable: true,
      modelInvocable: false,
      place: join(directory, path),
      folder,
      files: [],
      tools: [],
    };
    return { skill, nameLine: 1 };
  } catch (error) {
    report(at(1), (error as Error).message);
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
