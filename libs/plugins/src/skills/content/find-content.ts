import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** What lies below a folder, as paths relative to it, in a stable order. */
export interface FoundContent {
  /** Folders with a SKILL.md; '' is the folder itself. */
  skills: string[];
  /** Markdown files in folders named `commands`. */
  commands: string[];
  /** Further Markdown files: agents, if they have the front matter of one. */
  documents: string[];
  /** There is more than is searched. */
  isCut: boolean;
}

/** Bounds of the search: enough for a marketplace, and the search of a whole home folder still ends. */
const maxDepth = 12;
const maxFolders = 20_000;

/** The file of a skill's instructions: SKILL.md, in any case. */
export const mainFile = /^skill\.md$/i;
/** Folders that hold no content, however they got there. */
const foreign = new Set(['node_modules', '__pycache__', 'vendor', 'dist', 'build']);
/** Hidden folders hold content only where Claude Code looks for it. */
const isSearched = (name: string) => name === '.claude' || (!name.startsWith('.') && !foreign.has(name));

/**
 * Searches a folder for skills, commands and agents, nested as their authors publish them: plugins, marketplaces, categories,
 * `.claude`. Within the folder of a skill only its own `skills` is searched. Links to folders are not entered, but may be
 * skills. Throws when the folder itself cannot be read.
 */
export async function findContent(directory: string): Promise<FoundContent> {
  const found: FoundContent = { skills: [], commands: [], documents: [], isCut: false };
  let folders = 0;
  const search = async (folder: string, depth: number) => {
    if (depth > maxDepth || ++folders > maxFolders) {
      found.isCut = true;
      return;
    }
    const entries = await entriesOf(join(directory, folder), folder === '');
    const isSkill = entries.some(({ name }) => mainFile.test(name));
    if (isSkill) found.skills.push(folder);
    const isOfCommands = folder.split('/').includes('commands');
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isSymbolicLink() && !entry.name.startsWith('.')) {
        if (await hasMainFile(join(directory, path))) found.skills.push(path);
      } else if (entry.isDirectory()) {
        const isOpen = folder === '' || !isSkill || entry.name === 'skills';
        if (isOpen && isSearched(entry.name)) await search(path, depth + 1);
      } else if (!isSkill && isDocument(entry)) {
        (isOfCommands ? found.commands : found.documents).push(path);
      }
    }
  };
  await search('', 0);
  return found;
}

/** The plugin or category that a path belongs to: its last folder whose name says more than what is in it. */
export function groupOf(path: string): string | undefined {
  for (let folder = dirname(path); folder !== '.' && folder !== ''; folder = dirname(folder)) {
    const name = basename(folder);
    if (!['skills', 'agents', 'commands', '.claude', 'plugins'].includes(name)) return name;
  }
  return undefined;
}

const isDocument = ({ name }: Dirent) => /\.md$/i.test(name) && !name.startsWith('.');

async function entriesOf(folder: string, isRoot: boolean): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    if (isRoot) throw error;
    return []; // deleted meanwhile, or not readable
  }
}

const hasMainFile = async (folder: string): Promise<boolean> =>
  (await readdir(folder).catch(() => [])).some((name) => mainFile.test(name));
