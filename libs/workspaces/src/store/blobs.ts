/**
 * Blobs: files by their SHA-256.
 *
 * B1: a file below its digest is complete and durable; it is written elsewhere, synced, then renamed. B2: blobs whose
 * `commit` has returned survive a power failure. B3: a blob that a batch found stored is not collected for the
 * grace time, since its mtime is renewed.
 */
import { createHash, type Hash, randomUUID } from 'node:crypto';
import { createReadStream, readFileSync, statSync, utimesSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { AppError } from '@harness/contracts';
import { eachOf, makeDurable, storageError } from './durable.ts';
import type { TenantFolder } from './tenant-folder.ts';
import type { Usage } from './usage.ts';

/** Largest stream of `add`: a caller bounds it, too. */
const maxBytes = Number.MAX_SAFE_INTEGER;

/** SHA-256 in hex. */
export const sha256Of = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');

/** Blobs that are stored together: nothing is visible before `commit`. */
export interface Batch {
  /** Adds bytes; returns their digest. */
  add(bytes: Uint8Array): Promise<string>;
  /** Adds what the stream has, at most `most` bytes: beyond them it throws `body_too_large`. */
  addStream(stream: AsyncIterable<Uint8Array>, most?: number): Promise<{ sha256: string; size: number }>;
  /** Bytes of blobs that are new to the store. */
  readonly addedBytes: number;
  /** Makes everything durable. Throws `storage_full`. */
  commit(): Promise<void>;
  /** Removes what is not committed; a no-op after `commit`. */
  discard(): Promise<void>;
}

/** The blobs of one tenant. */
export interface Blobs {
  batch(): Batch;
  /** Renews a blob's mtime, so that it is not collected. False: it is not stored, or not with this size. */
  renew(sha256: string, size?: number): boolean;
  /** The bytes, compared with their digest. Throws `file_damaged`. */
  read(sha256: string): Promise<Buffer>;
  /** The same, at once: for small blobs, of which there are many. */
  readNow(sha256: string): Buffer;
  /** A part of a blob; `end` is inclusive. Throws `file_damaged` when there is none. Not compared with its digest. */
  stream(sha256: string, range?: { start: number; end: number }): Promise<Readable>;
}

/** Creates the blobs of a tenant's folder. */
export function createBlobs(folder: TenantFolder, usage: Usage): Blobs {
  let made: Promise<void> | undefined;
  const ready = () => {
    made ??= folder.make().catch((error) => {
      made = undefined;
      throw storageError(error);
    });
    return made;
  };
  const renew = (sha256: string, size?: number): boolean => {
    const path = folder.blob(sha256);
    const now = new Date();
    const renewed = ifThere(() => {
      if (size !== undefined && statSync(path).size !== size) return false;
      utimesSync(path, now, now);
      return true;
    });
    return renewed ?? false;
  };
  return {
    renew,
    batch: () => createBatch({ folder, usage, ready, renew }),
    async read(sha256) {
      const bytes = await readAnywhere(folder, sha256, (path) => readFile(path));
      if (sha256Of(bytes) !== sha256) throw damaged(sha256);
      return bytes;
    },
    readNow(sha256) {
      for (const path of [folder.blob(sha256), folder.trash(sha256), folder.blob(sha256)]) {
        const bytes = ifThere(() => readFileSync(path));
        if (bytes && sha256Of(bytes) !== sha256) throw damaged(sha256);
        if (bytes) return bytes;
      }
      throw damaged(sha256);
    },
    async stream(sha256, range) {
      const file = await readAnywhere(folder, sha256, (path) => open(path));
      return createReadStream('', { ...range, fd: file });
    },
  };
}

/** Undefined if there is no such file. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Reads a blob, also from the trash: the next collection moves a used one back. */
async function readAnywhere<T>(
  folder: TenantFolder,
  sha256: string,
  read: (path: string) => Promise<T>,
): Promise<T> {
  for (const path of [folder.blob(sha256), folder.trash(sha256), folder.blob(sha256)]) {
    try {
      return await read(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw damaged(sha256);
}

/** The error for a blob that is missing or has other bytes. */
export const damaged = (sha256: string): AppError =>
  new AppError(
    'file_damaged',
    `The stored file ${sha256.slice(0, 12)}… is missing or damaged. "npm run files -- verify" lists all such files; restore them from a backup.`,
  );

interface BatchDeps {
  folder: TenantFolder;
  usage: Usage;
  ready(): Promise<void>;
  renew(sha256: string, size?: number): boolean;
}

function createBatch({ folder, usage, ready, renew }: BatchDeps): Batch {
  /** New blobs and the files that hold them, by digest. */
  const written = new Map<string, { tmp: string; size: number }>();
  let addedBytes = 0;
  const newTmp = () => join(folder.tmp, randomUUID());
  const note = (sha256: string, blob: { tmp: string; size: number }) => {
    written.set(sha256, blob);
    addedBytes += blob.size;
  };
  const guarded = async <T>(write: () => Promise<T>): Promise<T> => {
    await ready();
    try {
      return await write();
    } catch (error) {
      throw storageError(error);
    }
  };
  const discard = async () => {
    const files = [...written.values()];
    written.clear();
    await eachOf(files, ({ tmp }) => rm(tmp, { force: true }));
  };
  return {
    get addedBytes() {
      return addedBytes;
    },
    discard,
    async add(bytes) {
      const sha256 = sha256Of(bytes);
      if (written.has(sha256) || renew(sha256, bytes.length)) return sha256;
      const tmp = newTmp();
      note(sha256, { tmp, size: bytes.length });
      await guarded(() => writeFile(tmp, bytes, { flag: 'wx', mode: 0o600 }));
      return sha256;
    },
    async addStream(stream, most = maxBytes) {
      const tmp = newTmp();
      const hash = createHash('sha256');
      const size = await guarded(() => writeStream({ tmp, hash, most }, stream)).catch(async (error) => {
        await rm(tmp, { force: true });
        throw error;
      });
      const sha256 = hash.digest('hex');
      if (written.has(sha256) || renew(sha256, size)) await rm(tmp, { force: true });
      else note(sha256, { tmp, size });
      return { sha256, size };
    },
    async commit() {
      if (written.size === 0) return;
      const blobs = [...written];
      await guarded(async () => {
        await makeDurable(
          blobs.map(([, { tmp }]) => tmp),
          folder.tmp,
        );
        const fans = [...new Set(blobs.map(([sha256]) => folder.fan(sha256)))];
        const made = await Promise.all(fans.map((fan) => mkdir(fan, { recursive: true, mode: 0o700 })));
        await eachOf(blobs, async ([sha256, { tmp }]) => {
          await rename(tmp, folder.blob(sha256));
          written.delete(sha256);
        });
        const isNew = made.some((path) => path !== undefined);
        await makeDurable(isNew ? [...fans, folder.blobs] : fans, folder.tmp);
        await usage.add(addedBytes);
      }).catch(async (error) => {
        await discard();
        throw error;
      });
    },
  };
}

async function writeStream(
  { tmp, hash, most }: { tmp: string; hash: Hash; most: number },
  stream: AsyncIterable<Uint8Array>,
): Promise<number> {
  const file = await open(tmp, 'wx', 0o600);
  let size = 0;
  try {
    for await (const chunk of stream) {
      size += chunk.length;
      if (size > most)
        throw new AppError(
          'body_too_large',
          `A file may have at most ${most} bytes here. Send a smaller one.`,
        );
      hash.update(chunk);
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  return size;
}
