/**
 * Makes a folder hold a version. Files are copies, never hard links. Every step starts at an open folder and follows no
 * symbolic link (anchored-folder.ts), so neither a version nor what a process does meanwhile leads out of the folder.
 */

import { createHash, randomUUID } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import type { Blobs } from '../store/blobs.ts';
import { damaged } from '../store/blobs.ts';
import { createPause, eachOf, storageError } from '../store/durable.ts';
import { type Entry, type FileEntry, isSame, type Manifest } from '../store/manifest.ts';
import { nameOf, parentOf } from '../store/paths.ts';
import { type AnchoredFolder, openAnchored, openBelow, removeTree } from './anchored-folder.ts';
import { identityOf, isSettled, type KnownFiles } from './snapshot.ts';

/** The owner of the restored files; absent = the process's user. Needs a process that is root. */
export interface Owner {
  uid: number;
  gid: number;
}

/** How a folder is changed. */
export interface RestoreDeps {
  blobs: Blobs;
  owner?: Owner | undefined;
}

/** `isEmpty`: there is nothing in the folder yet. */
interface ChangeDeps extends RestoreDeps {
  isEmpty: boolean;
}

/** What must be done in one folder. */
interface FolderWork {
  remove: string[];
  entries: Entry[];
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
/** Files up to this size are written in one piece, bytes. */
const smallBytes = 256 * 1024;
/** Mode of a folder while it is being filled; its own mode is set at the end. */
const openMode = 0o700;

/**
 * Changes a folder from holding `from` (undefined: it is empty) to holding `to`; what neither names is left alone, except
 * where it is in the way. Throws `file_damaged`, `storage_full`; then the folder must be deleted.
 */
export async function changeFolder(
  path: string,
  { from, to }: { from: Manifest | undefined; to: Manifest },
  deps: RestoreDeps,
): Promise<KnownFiles> {
  const work = workOf(from, to);
  const put: { stat: BigIntStats; sha256: string }[] = [];
  const pause = createPause();
  const root = openAnchored(path);
  try {
    // A folder before its content: paths are sorted, and a folder's own path is shorter.
    for (const parent of [...work.keys()].sort()) {
      const { remove, entries } = work.get(parent) as FolderWork;
      if (parent !== '' && to.entries.get(parent)?.kind !== 'dir') continue; // removed as a whole
      const folder = openBelow(root, parent);
      try {
        if (parent !== '') fchmodSync(folder.fd, openMode);
        for (const name of remove) removeTree(folder, name);
        await eachOf(entries, async (entry) => {
          await pause();
          const stat = await putEntry(folder, entry, { ...deps, isEmpty: from === undefined });
          if (entry.kind === 'file' && stat) put.push({ stat, sha256: entry.sha256 });
        });
      } finally {
        folder.close();
      }
    }
    setFolderModes(root, { folders: [...work.keys()], to });
  } catch (error) {
    throw storageError(error);
  } finally {
    root.close();
  }
  // What was written just now could be changed once more within the same tick of the clock.
  const endedAt = Date.now();
  const settled = put.filter(({ stat }) => isSettled(stat, endedAt));
  const digests = new Map(settled.map(({ stat, sha256 }) => [identityOf(stat), sha256]));
  return { digests, renewedAt: endedAt };
}

/** What to do, by folder. A folder that is new, or has another mode, has an entry of its own, too. */
function workOf(from: Manifest | undefined, to: Manifest): Map<string, FolderWork> {
  const work = new Map<string, FolderWork>();
  const at = (parent: string): FolderWork => {
    const found = work.get(parent) ?? { remove: [], entries: [] };
    work.set(parent, found);
    return found;
  };
  for (const [path, entry] of to.entries) {
    const before = from?.entries.get(path);
    if (before && isSame(before, entry)) continue;
    if (before && before.kind !== entry.kind) at(parentOf(path)).remove.push(nameOf(path));
    at(parentOf(path)).entries.push(entry);
    if (entry.kind === 'dir') at(path);
  }
  for (const path of from?.entries.keys() ?? []) {
    if (!to.entries.has(path)) at(parentOf(path)).remove.push(nameOf(path));
  }
  return work;
}

async function putEntry(
  folder: AnchoredFolder,
  entry: Entry,
  deps: ChangeDeps,
): Promise<BigIntStats | undefined> {
  const { owner } = deps;
  const name = nameOf(entry.path);
  const path = folder.pathOf(name);
  if (entry.kind === 'file') return putFile(folder, entry, deps);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (entry.kind === 'dir') {
    if (found && !found.isDirectory()) removeTree(folder, name);
    if (!found?.isDirectory()) mkdirSync(path, openMode);
  } else {
    if (found) removeTree(folder, name);
    symlinkSync(entry.target, path);
  }
  if (owner) lchownSync(path, owner.uid, owner.gid);
  return undefined;
}

/** In a folder in use, writes the file under another name and renames it: what is there is replaced, never written through. */
async function putFile(folder: AnchoredFolder, entry: FileEntry, { blobs, owner, isEmpty }: ChangeDeps) {
  const name = nameOf(entry.path);
  const tmp = isEmpty ? folder.pathOf(name) : folder.pathOf(`.${randomUUID()}.tmp`);
  const fd = openSync(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    if (entry.size <= smallBytes) {
      const bytes = blobs.readNow(entry.sha256);
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    } else await copyLarge(fd, entry, blobs);
    if (owner) fchownSync(fd, owner.uid, owner.gid);
    fchmodSync(fd, entry.mode);
    if (!isEmpty) {
      if (lstatSync(folder.pathOf(name), { throwIfNoEntry: false })?.isDirectory()) removeTree(folder, name);
      renameSync(tmp, folder.pathOf(name));
    }
    return fstatSync(fd, { bigint: true });
  } catch (error) {
    removeTree(folder, tmp.slice(tmp.lastIndexOf('/') + 1));
    throw error;
  } finally {
    closeSync(fd);
  }
}

async function copyLarge(fd: number, { sha256 }: FileEntry, blobs: Blobs): Promise<void> {
  const hash = createHash('sha256');
  for await (const chunk of await blobs.stream(sha256)) {
    hash.update(chunk);
    for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at);
  }
  if (hash.digest('hex') !== sha256) throw damaged(sha256);
}

/** The modes of folders come last, the deepest first: one may be without the right to write. */
function setFolderModes(root: AnchoredFolder, { folders, to }: { folders: string[]; to: Manifest }): void {
  for (const path of folders.sort().reverse()) {
    const entry = to.entries.get(path);
    if (entry?.kind !== 'dir') continue;
    const folder = openBelow(root, path);
    try {
      fchmodSync(folder.fd, entry.mode);
    } finally {
      folder.close();
    }
  }
}
