/** Reads what lies in a workspace: names and stats only. */
import { type BigIntStats, lstatSync, readlinkSync } from 'node:fs';
import { createPause } from '../store/durable.ts';
import { count, type FolderLimits } from '../store/limits.ts';
import { type Entry, maxTargetChars, permissionBits } from '../store/manifest.ts';
import { pathProblem } from '../store/paths.ts';
import { type AnchoredFolder, openWithin } from './anchored-folder.ts';

/** Something in the folder that a version cannot hold. */
export interface Skipped {
  path: string;
  why: string;
}

/** A file that was found: `size` is that of the scan. */
export interface FoundFile {
  path: string;
  name: string;
  mode: number;
  stat: BigIntStats;
}

/** Takes what a scan finds. */
export interface Scan {
  limits: FolderLimits;
  /** A folder or symbolic link. */
  entry(entry: Entry): void;
  /** All files of one folder, while it is open. */
  files(folder: AnchoredFolder, files: FoundFile[]): Promise<void>;
  skip(skipped: Skipped): void;
}

/**
 * Walks through the folder. Symbolic links are not followed; fifos, sockets and devices are skipped, and so is what has a
 * name or depth that a version cannot hold, or cannot be read. Throws `limit_reached` before any file beyond the limits is
 * read.
 */
export async function scanFolder(root: AnchoredFolder, scan: Scan): Promise<void> {
  const pause = createPause();
  const counted = { files: 0, bytes: 0 };
  const visit = async (folder: AnchoredFolder, prefix: string): Promise<void> => {
    const found: FoundFile[] = [];
    const folders: { path: string; name: string }[] = [];
    for (const name of folder.names().sort()) {
      await pause();
      if (name === undefined) {
        scan.skip({ path: `${prefix}?`, why: 'its name is not valid UTF-8' });
        continue;
      }
      const path = prefix + name;
      const problem = pathProblem(path);
      if (problem !== undefined) {
        scan.skip({ path: path.slice(0, 200), why: problem });
        continue;
      }
      const stat = lstatSync(folder.pathOf(name), { bigint: true, throwIfNoEntry: false });
      if (!stat) continue; // removed meanwhile
      count(counted, { path, size: stat.isFile() ? Number(stat.size) : 0 }, scan.limits);
      const mode = Number(stat.mode) & permissionBits;
      if (stat.isFile()) found.push({ path, name, mode, stat });
      else if (stat.isDirectory()) {
        scan.entry({ path, kind: 'dir', mode });
        folders.push({ path, name });
      } else if (stat.isSymbolicLink()) addLink(scan, path, folder.pathOf(name));
      else scan.skip({ path, why: 'it is neither a file nor a folder nor a symbolic link' });
    }
    await scan.files(folder, found);
    for (const { path, name } of folders) {
      const inner = openOr(() => openWithin(folder, name));
      if (!inner) {
        scan.skip({ path, why: 'it cannot be read' });
        continue;
      }
      try {
        await visit(inner, `${path}/`);
      } finally {
        inner.close();
      }
    }
  };
  await visit(root, '');
}

function addLink(scan: Scan, path: string, at: string): void {
  const raw = openOr(() => readlinkSync(at, { encoding: 'buffer' }));
  const target = raw?.toString('utf8') ?? '';
  if (!raw || !Buffer.from(target).equals(raw) || target === '' || target.length > maxTargetChars)
    scan.skip({ path, why: 'its target cannot be read, or is not valid UTF-8' });
  else scan.entry({ path, kind: 'symlink', target });
}

const unreadable = new Set(['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ENXIO']);

/** Undefined if it cannot be opened, or is another thing by now. */
export function openOr<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (unreadable.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
