/**
 * Stores what lies in a workspace as a version.
 *
 * A file is read again only if its identity (device, inode, size, mtime, ctime) differs from the previous snapshot's: ctime
 * cannot be set back. A file that was changed within the clock's tick of being read could change once more without a trace,
 * so it is read again next time.
 *
 * This folder:
 *   scan.ts            lists what lies in a workspace
 *   restore.ts         makes a folder hold a version
 *   anchored-folder.ts folders by open descriptors
 */
import { type BigIntStats, closeSync, fstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Batch, Blobs } from '../store/blobs.ts';
import { createPause, eachOf } from '../store/durable.ts';
import type { FolderLimits } from '../store/limits.ts';
import { type Changes, changesOf, type Entry, type Manifest, manifestOf } from '../store/manifest.ts';
import { type AnchoredFolder, openAnchored, openFile } from './anchored-folder.ts';
import { type FoundFile, openOr, type Skipped, scanFolder } from './scan.ts';

/** A version, and what the next snapshot of the same folder needs to be quick. */
export interface Snapshot {
  /** SHA-256 of its manifest. */
  version: string;
  /** Number of files and symbolic links. */
  files: number;
  /** Sum of the sizes of its files. */
  bytes: number;
  /** What differs from the previous version of the folder. */
  changes: Changes;
  /** What the version does not hold, at most 100 of them. */
  skipped: Skipped[];
  manifest: Manifest;
  known: KnownFiles;
}

/** Digests of files by identity, and when their blobs were last known to be stored (ms). */
export interface KnownFiles {
  digests: ReadonlyMap<string, string>;
  renewedAt: number;
}

/** The identity of a file: equal identities mean an unchanged file. */
export const identityOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;

/** Longer than a tick of any kernel's clock: a second change within it may leave the same ctime, ns. */
const tickNs = 20_000_000n;
/** Whether an identity taken now is certain to change with the next change of the file. */
export const isSettled = ({ ctimeNs }: BigIntStats, nowMs = Date.now()): boolean =>
  ctimeNs < BigInt(nowMs) * 1_000_000n - tickNs;

/** Blobs of an earlier snapshot are renewed after this time, well below the grace time of a collection. */
const renewAfterMs = 3_600_000;
const mostSkipped = 100;
/** Files up to this size are read in one piece, bytes. */
const smallBytes = 256 * 1024;

/** What taking a snapshot needs. */
export interface SnapshotDeps {
  blobs: Blobs;
  limits: FolderLimits;
  previous?: Snapshot | undefined;
}

/** Reads the folder; the files that the store lacks are in `batch`, which the caller commits. */
export async function readFolder(
  path: string,
  { batch, ...deps }: SnapshotDeps & { batch: Batch },
): Promise<Omit<Snapshot, 'version'>> {
  const { previous, limits } = deps;
  const isFresh = previous !== undefined && Date.now() - previous.known.renewedAt < renewAfterMs;
  const entries: Entry[] = [];
  const skipped: Skipped[] = [];
  const digests = new Map<string, string>();
  const skip = (one: Skipped) => {
    if (skipped.length < mostSkipped) skipped.push(one);
  };
  const pause = createPause();
  const startedAt = Date.now();
  const known = (file: FoundFile): boolean => {
    const identity = identityOf(file.stat);
    const sha256 = previous?.known.digests.get(identity);
    if (sha256 === undefined) return false;
    const size = Number(file.stat.size);
    if (!isFresh && !deps.blobs.renew(sha256, size)) return false;
    digests.set(identity, sha256);
    entries.push({ path: file.path, kind: 'file', mode: file.mode, size, sha256 });
    return true;
  };
  const store = async (folder: AnchoredFolder, file: FoundFile) => {
    await pause();
    const stored = await storeFile(folder, file, batch);
    if (!stored) return skip({ path: file.path, why: 'it cannot be read' });
    const { stat, sha256, size } = stored;
    if (stat && isSettled(stat)) digests.set(identityOf(stat), sha256);
    entries.push({ path: file.path, kind: 'file', mode: file.mode, size, sha256 });
  };
  const root = openAnchored(path);
  try {
    await scanFolder(root, {
      limits,
      skip,
      entry: (entry) => entries.push(entry),
      async files(folder, files) {
        const changed = files.filter((file) => !known(file));
        await eachOf(changed, (file) => store(folder, file));
      },
    });
  } finally {
    root.close();
  }
  const manifest = manifestOf(entries);
  const renewedAt = isFresh ? previous.known.renewedAt : startedAt;
  return {
    files: manifest.files,
    bytes: manifest.bytes,
    changes: changesOf(previous?.manifest, manifest),
    skipped,
    manifest,
    known: { digests, renewedAt },
  };
}

interface StoredFile {
  sha256: string;
  size: number;
  /** Its stat, if it did not change while it was read. */
  stat: BigIntStats | undefined;
}

/** Undefined: it is no longer a file, or cannot be read. */
async function storeFile(
  folder: AnchoredFolder,
  { name, stat: seen }: FoundFile,
  batch: Batch,
): Promise<StoredFile | undefined> {
  const fd = openOr(() => openFile(folder, name));
  if (fd === undefined) return undefined;
  try {
    const before = fstatSync(fd, { bigint: true });
    if (!before.isFile()) return undefined;
    // No more than the scan counted: a file that grows is cut, and read again by the next snapshot.
    const size = Math.min(Number(before.size), Number(seen.size));
    const stored = size <= smallBytes ? await storeSmall(fd, size, batch) : await storeLarge(fd, size, batch);
    const after = fstatSync(fd, { bigint: true });
    const isSteady = identityOf(after) === identityOf(seen) && BigInt(stored.size) === after.size;
    return { ...stored, stat: isSteady ? after : undefined };
  } finally {
    closeSync(fd);
  }
}

async function storeSmall(fd: number, most: number, batch: Batch) {
  const bytes = Buffer.allocUnsafe(most);
  let size = 0;
  while (size < most) {
    const read = readSync(fd, bytes, size, most - size, size);
    if (read === 0) break;
    size += read;
  }
  return { sha256: await batch.add(bytes.subarray(0, size)), size };
}

const chunkBytes = 1024 * 1024;
const readAt = promisify(read);

const storeLarge = (fd: number, most: number, batch: Batch) => batch.addStream(chunksOf(fd, most));

/** Not a stream of Node: where its reader fails it closes the descriptor, which the caller closes, too. */
async function* chunksOf(fd: number, most: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < most; ) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, most - at));
    const { bytesRead } = await readAt(fd, chunk, 0, chunk.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}
