/**
 * Reads the skills and commands of a folder, nested as their authors publish them. One with an error becomes a diagnostic with
 * file and line, and the others load.
 *
 * This folder:
 *   find-content.ts      finds the skills, commands and agents below a folder
 *   load-skill.ts        loads one skill
 *   load-agents.ts       loads the agents of a folder
 *   front-matter.ts      parses YAML front matter
 *   lenient.ts           corrects fields whose meaning is certain
 *   fill-in.ts           arguments and folders in instructions
 *   embedded-commands.ts commands that are embedded in instructions
 *   read-file-within.ts  reads a file that must lie within a folder
 *   test/                a corpus of published content, and its fixture
 */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Diagnostic } from '@harness/plugin-kit';
import type { Skill } from '../skill.ts';
import { type FoundContent, findContent, groupOf } from './find-content.ts';
import { slugOf } from './lenient.ts';
import { type At, loadCommand, loadSkill, type Report, type SkillOptions } from './load-skill.ts';
import { levelOf } from './read-file-within.ts';

/** What was loaded, and what was wrong. */
export interface LoadedSkills {
  loaded: Skill[];
  diagnostics: Diagnostic[];
}

/** Reads the folder. Never rejects because of its content. */
export async function loadSkills(
  directory: string,
  options: SkillOptions = { code: false },
): Promise<LoadedSkills> {
  const diagnostics: Diagnostic[] = [];
  const report = ({ path, line }: At, message: string, level: Diagnostic['level'] = 'error') => {
    const source = join(directory, path);
    diagnostics.push({ source, level, message: `${source}:${line}: ${message}` });
  };
  const ofFolder = { path: '', line: 1 };
  let content: FoundContent;
  try {
    content = await findContent(directory);
  } catch (error) {
    report(ofFolder, `the skills folder cannot be read: ${(error as Error).message}`, levelOf(error));
    return { loaded: [], diagnostics };
  }
  if (content.isCut) report(ofFolder, 'there is more below this folder than is searched', 'warning');
  for (const name of await emptyFolders(directory, content))
    report({ path: join(name, 'SKILL.md'), line: 1 }, 'there is no file SKILL.md', 'warning');

  const found: Made[] = [];
  for (const path of content.skills) {
    const reportHere: Report = (at, message, level) =>
      report({ path: join(path, at.path), line: at.line }, message, level);
    const made = await loadSkill({ directory, name: path, report: reportHere, ...options });
    if (made) found.push({ path, report: reportHere, ...made });
  }
  for (const path of content.commands) {
    const reportHere: Report = ({ line }, message, level) => report({ path, line }, message, level);
    const made = await loadCommand(directory, path, { report: reportHere, workspaces: options.workspaces });
    if (made) found.push({ path, report: reportHere, ...made });
  }
  return { loaded: named(found), diagnostics };
}

/**
 * Gives each skill a name of its own. The skill in the folder of that name keeps it, as the format requires, otherwise the
 * first one. Another one gets the name of its plugin before it; a copy of the same files is left out.
 */
function named(found: readonly Made[]): Skill[] {
  const owners = new Map<string, Skill>();
  const isOwn = ({ path, skill }: Made) => basename(path) === skill.name;
  const isCommand = ({ skill }: Made) => skill.kind === 'command';
  const order = [
    ...found.filter((one) => isOwn(one) && !isCommand(one)),
    ...found.filter((one) => !isOwn(one) && !isCommand(one)),
    ...found.filter(isCommand),
  ];
  for (const made of order) {
    const { path, skill, report } = made;
    const at = { path: skill.kind === 'skill' ? 'SKILL.md' : '', line: made.nameLine };
    const owner = owners.get(skill.name);
    const group = groupOf(path);
    const second = group === undefined ? undefined : freeName(slugOf(`${group}-${skill.name}`), owners);
    if (!owner) {
      owners.set(skill.name, skill);
      if (skill.kind === 'skill' && path !== '' && !isOwn(made))
        report(at, `name: the folder must have the same name: rename it to "${skill.name}"`, 'warning');
    } else if (isDeepStrictEqual(owner.files, skill.files) && owner.instructions === skill.instructions) {
      report(at, `"${skill.name}" is the same as ${owner.place}`, 'warning');
    } else if (second) {
      owners.set(second, { ...skill, name: second });
      report(at, `the name "${skill.name}" is taken by ${owner.place}: this one is "${second}"`, 'warning');
    } else report(at, `the name "${skill.name}" is taken by ${owner.place}`);
  }
  const placed = new Map([...owners.values()].map((skill) => [skill.place, skill]));
  return found.flatMap(({ skill }) => placed.get(skill.place) ?? []);
}

/** The name, or the name with a number, whichever is free first; undefined: none is. */
function freeName(name: string, owners: ReadonlyMap<string, Skill>): string | undefined {
  const names = [name, ...[2, 3, 4, 5, 6, 7, 8, 9].map((n) => `${name}-${n}`)];
  return names.find((one) => !owners.has(one));
}

/**
 * In a folder of skills that all lie directly below it: those that hold nothing, where a SKILL.md may have been forgotten. In
 * a repository other folders are no skills.
 */
async function emptyFolders(directory: string, { skills, commands }: FoundContent): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const used = [...skills, ...commands];
  if (used.some((path) => path.includes('/'))) return [];
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .filter((name) => !used.includes(name));
}

interface Made {
  /** Relative to the skills folder. */
  path: string;
  skill: Skill;
  nameLine: number;
  report: Report;
}
