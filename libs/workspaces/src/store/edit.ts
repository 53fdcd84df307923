/** Changes of a version that no folder holds: by callers, between turns. */
import { AppError } from '@harness/contracts';
import { type Batch, type Blobs, damaged } from './blobs.ts';
import { count, type FolderLimits } from './limits.ts';
import { type Entry, type FileEntry, type Manifest, manifestOf, permissionBits } from './manifest.ts';
import { checkPath, parentOf } from './paths.ts';

/**
 * One change of a version. `put`: the bytes of a file; its mode is kept, or 0644. `stored`: the same, of a file that the store
 * has. `dir`: a folder, if there is none.
 */
export type Edit =
  | { path: string; put: Uint8Array | AsyncIterable<Uint8Array>; mode?: number | undefined }
  | { path: string; stored: Pick<FileEntry, 'sha256' | 'size'>; mode?: number | undefined }
  | { path: string; dir: true; mode?: number | undefined }
  | { path: string; delete: true };

/** Edits in their order. */
export type Edits = Iterable<Edit> | AsyncIterable<Edit>;

const fileMode = 0o644;
const folderMode = 0o755;

/**
 * The manifest after the edits; new files are in `batch`. Folders of a new file are made. A file replaces a symbolic link;
 * neither replaces a folder. Throws `invalid_request`, `file_not_found`, `limit_reached`.
 */
export async function editManifest(
  base: Manifest | undefined,
  edits: Edits,
  { blobs, batch, limits }: { blobs: Blobs; batch: Batch; limits: FolderLimits },
): Promise<Manifest> {
  const entries = new Map(base?.entries);
  for await (const edit of edits) {
    const path = checkPath(edit.path);
    if ('delete' in edit) {
      remove(entries, path);
      continue;
    }
    makeFolders(entries, path);
    const before = entries.get(path);
    const mode = edit.mode === undefined ? undefined : edit.mode & permissionBits;
    if ('dir' in edit) {
      if (before && before.kind !== 'dir') throw inTheWay(path, before);
      if (!before) entries.set(path, { path, kind: 'dir', mode: mode ?? folderMode });
      continue;
    }
    if (before?.kind === 'dir') throw inTheWay(path, before);
    const stored = 'stored' in edit ? found(edit.stored, blobs) : await added(edit.put, { batch, limits });
    const kept = before?.kind === 'file' ? before.mode : fileMode;
    entries.set(path, { path, kind: 'file', mode: mode ?? kept, ...stored });
    if (entries.size > limits.files) checkLimits(entries, limits);
  }
  checkLimits(entries, limits);
  return manifestOf(entries.values());
}

/**
 * The edits with the content of their files in `batch`: they can be made more than once. Throws `invalid_request` for a path,
 * `body_too_large` for a file beyond the limit.
 */
export async function stageEdits(
  edits: Edits,
  { batch, limits }: { batch: Batch; limits: FolderLimits },
): Promise<Edit[]> {
  const staged: Edit[] = [];
  for await (const edit of edits) {
    checkPath(edit.path);
    if (!('put' in edit)) staged.push(edit);
    else {
      const { path, put, mode } = edit;
      staged.push({ path, stored: await added(put, { batch, limits }), mode });
    }
  }
  return staged;
}

/** The manifest with all that `other` has, which wins where both have a path. Throws `limit_reached`. */
export function mergeManifests(base: Manifest | undefined, other: Manifest, limits: FolderLimits): Manifest {
  const entries = new Map(base?.entries);
  for (const [path, entry] of other.entries) {
    const before = entries.get(path);
    if (before?.kind === 'dir' && entry.kind === 'dir') continue;
    if (before?.kind === 'dir') remove(entries, path);
    // An entry in the place of a folder of `other` is removed.
    for (let above = parentOf(path); above !== ''; above = parentOf(above)) {
      const folder = entries.get(above);
      if (folder && folder.kind !== 'dir') entries.delete(above);
    }
    entries.set(path, entry);
    makeFolders(entries, path);
  }
  checkLimits(entries, limits);
  return manifestOf(entries.values());
}

function found({ sha256, size }: Pick<FileEntry, 'sha256' | 'size'>, blobs: Blobs) {
  if (!blobs.renew(sha256, size)) throw damaged(sha256);
  return { sha256, size };
}

async function added(
  put: Uint8Array | AsyncIterable<Uint8Array>,
  { batch, limits }: { batch: Batch; limits: FolderLimits },
) {
  if (!(put instanceof Uint8Array)) return batch.addStream(put, limits.bytes);
  return { sha256: await batch.add(put), size: put.length };
}

function checkLimits(entries: ReadonlyMap<string, Entry>, limits: FolderLimits): void {
  const counted = { files: 0, bytes: 0 };
  for (const [path, entry] of entries) {
    count(counted, { path, size: entry.kind === 'file' ? entry.size : 0 }, limits);
  }
}

function remove(entries: Map<string, Entry>, path: string): void {
  if (!entries.delete(path))
    throw new AppError(
      'file_not_found',
      `There is no file ${JSON.stringify(path)}. List the files to see their paths.`,
    );
  for (const other of [...entries.keys()]) if (other.startsWith(`${path}/`)) entries.delete(other);
}

function makeFolders(entries: Map<string, Entry>, path: string): void {
  for (let above = parentOf(path); above !== ''; above = parentOf(above)) {
    const found = entries.get(above);
    if (found && found.kind !== 'dir') throw inTheWay(above, found);
    if (!found) entries.set(above, { path: above, kind: 'dir', mode: folderMode });
  }
}

const nouns = { file: 'a file', dir: 'a folder', symlink: 'a symbolic link' };

const inTheWay = (path: string, { kind }: Entry) =>
  new AppError(
    'invalid_request',
    `At ${JSON.stringify(path)} there is ${nouns[kind]}. Choose another path, or delete it first.`,
  );
