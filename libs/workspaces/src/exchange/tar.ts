/** Versions as tar archives, both ways. Archives have folders and files only: symbolic links are left out, or refused. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '@harness/contracts';
import { extract, type Header, pack } from 'tar-stream';
import type { Blobs } from '../store/blobs.ts';
import type { Edit } from '../store/edit.ts';
import type { Manifest } from '../store/manifest.ts';
import { checkPath } from '../store/paths.ts';

/** Fixed, so that the archive of a version is always the same, byte for byte. */
const mtime = new Date(0);

/** A version as a tar archive. An error of the store destroys the stream. */
export function tarOf(blobs: Blobs, manifest: Manifest): Readable {
  const archive = pack();
  const write = async () => {
    for (const entry of manifest.entries.values()) {
      if (entry.kind === 'symlink') continue;
      if (entry.kind === 'dir') {
        archive.entry({ name: `${entry.path}/`, type: 'directory', mode: entry.mode, mtime });
        continue;
      }
      const { path: name, mode, size } = entry;
      await pipeline(await blobs.stream(entry.sha256), archive.entry({ name, mode, size, mtime }));
    }
    archive.finalize();
  };
  write().catch((error) => archive.destroy(error));
  // tar-stream's stream is not one of Node's.
  return Readable.from(archive);
}

/** Bounds of an archive. */
export interface TarLimits {
  /** Sum of the sizes of its files. */
  bytes: number;
  /** Number of its entries. */
  files: number;
}

/**
 * Reads an archive as edits; each must be consumed before the next. Throws `invalid_request` for what is no archive, links,
 * devices and paths out of the folder, and `body_too_large` beyond the bounds, before what exceeds them is read.
 */
export async function* readTar(source: Readable, limits: TarLimits): AsyncGenerator<Edit> {
  const archive = extract();
  const feeding = pipeline(source, archive as unknown as NodeJS.WritableStream).catch((error) => error);
  const counted = { files: 0, bytes: 0 };
  try {
    for await (const entry of archive) {
      const { header } = entry;
      const edit = editOf(header, counted, limits);
      if (edit === undefined) entry.resume();
      else if (edit.isFolder) {
        entry.resume();
        yield { path: edit.path, dir: true, mode: header.mode };
      } else yield { path: edit.path, put: contentOf(entry as AsyncIterable<Uint8Array>), mode: header.mode };
    }
  } catch (error) {
    throw archiveError(error);
  } finally {
    archive.destroy();
    source.destroy();
    await feeding;
  }
}

/** The bytes of a file in the archive. */
async function* contentOf(entry: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* entry;
  } catch (error) {
    throw archiveError(error);
  }
}

function archiveError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const why = (error as Error).message;
  return new AppError('invalid_request', `This is not a whole tar archive: ${why}.`, { cause: error });
}

/** Undefined: the folder itself. */
function editOf(
  header: Header,
  counted: { files: number; bytes: number },
  limits: TarLimits,
): { path: string; isFolder: boolean } | undefined {
  const { name, type, size = 0 } = header;
  const isFolder = type === 'directory';
  if (!isFolder && type !== 'file' && type !== 'contiguous-file') {
    const shown = JSON.stringify(name.slice(0, 200));
    throw new AppError(
      'invalid_request',
      `The archive has ${shown}, which is of the type ${type ?? 'unknown'}. Only files and folders are accepted, no links and no devices.`,
    );
  }
  counted.files++;
  counted.bytes += isFolder ? 0 : size;
  if (counted.files > limits.files || counted.bytes > limits.bytes)
    throw new AppError(
      'body_too_large',
      `The archive has more than ${limits.files} files or ${limits.bytes} bytes, its maximum. Split it.`,
    );
  const relative = name.replace(/^(\.\/+)+/, '');
  const path = isFolder ? relative.replace(/\/+$/, '') : relative;
  if (isFolder && (path === '' || path === '.')) return undefined;
  return { path: checkPath(path), isFolder };
}
