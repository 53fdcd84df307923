import { constants, copyFileSync, linkSync, mkdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Creates the function that returns a path of an executable which sessions of other users can reach. They cannot enter the home
 * of root: an executable there is linked, or copied, into `folder` once.
 */
export function createExecutablePlace(folder: string, isRoot = process.getuid?.() === 0) {
  const placed = new Map<string, string>();
  return (executable: string): string => {
    if (!isRoot || isOpen(executable)) return executable;
    const known = placed.get(executable);
    if (known) return known;
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    const path = join(folder, `${placed.size}-${basename(executable)}`);
    try {
      linkSync(executable, path);
    } catch {
      copyFileSync(executable, path, constants.COPYFILE_FICLONE); // another file system
    }
    placed.set(executable, path);
    return path;
  };
}

/** Whether every user may run a file. */
function isOpen(path: string): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) break;
  }
  return (statSync(path).mode & 0o005) === 0o005;
}
