import { constants as flags } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Diagnostic } from '@harness/plugin-kit';

/** Maximum size in bytes of SKILL.md, of an agent's file, and of a file that a tool returns. */
export const maxFileBytes = 256 * 1024;

/** Whether a path is the folder or below it. */
export const isWithin = (folder: string, path: string) =>
  path === folder || path.startsWith(`${folder}${sep}`);

/** The diagnostic level of a read error: a missing file is a warning, an unreadable one an error. */
export const levelOf = (error: unknown): Diagnostic['level'] =>
  (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' ? 'warning' : 'error';

/** Whether a relative path has a part that begins with a dot (`.env`, anything in `.git`). Such files are not read. */
export const isHidden = (path: string) => /(^|[\\/])\.[^./\\]/.test(path);

/**
 * The path is not below the folder, or leads out of it. Callers other than the operator must get the same error as for a
 * missing file: a difference would reveal which files exist elsewhere.
 */
export class OutsideError extends Error {
  override name = 'OutsideError';

  constructor(path: string) {
    super(`${path} points outside its folder`);
  }
}

/**
 * Reads a regular file below the folder that is not hidden and has at most `limit` bytes. The path is resolved before anything
 * is opened, and again afterwards, so that a link cannot be swapped in between. Throws OutsideError, or an Error whose message
 * may be shown.
 */
export async function readFileWithin(folder: string, path: string, limit = maxFileBytes): Promise<Buffer> {
  const resolved = await resolveWithin(folder, path);
  const file = await openNow(resolved, path);
  try {
    const opened = await file.stat();
    const found = await stat(await resolveWithin(folder, path));
    if (found.ino !== opened.ino || found.dev !== opened.dev) throw new OutsideError(path);
    if (!opened.isFile()) throw new Error(`${path} is not a regular file`);
    if (opened.size > limit) throw new Error(`${path} has ${opened.size} bytes; at most ${limit} are read`);
    // Reads the size at opening, because the file may grow.
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(opened.size), position: 0 });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const missing = (path: string, cause?: unknown) => new Error(`there is no file ${path}`, { cause });

/** Whether a path leads above its folder at any step, even if it returns: it would reveal the names of the folders above. */
function leaves(path: string): boolean {
  let depth = 0;
  for (const part of path.split(/[\\/]/)) {
    if (part === '..') depth--;
    else if (part !== '' && part !== '.') depth++;
    if (depth < 0) return true;
  }
  return false;
}

/** The real path of something below the folder. A path that leads out by its text alone is refused without reading the disk. */
async function resolveWithin(folder: string, path: string): Promise<string> {
  const wanted = join(folder, path);
  if (leaves(path) || !isWithin(folder, wanted)) throw new OutsideError(path);
  const hidden = () => new Error(`${path} is hidden: names that begin with a dot are not read`);
  if (isHidden(path)) throw hidden();
  const resolved = await realpath(wanted).catch((cause: unknown) => {
    throw missing(path, cause);
  });
  if (!isWithin(folder, resolved)) throw new OutsideError(path);
  if (isHidden(resolved.slice(folder.length))) throw hidden();
  return resolved;
}

async function openNow(resolved: string, path: string): Promise<FileHandle> {
  try {
    // Non-blocking, so that opening a named pipe does not wait for its writer.
    return await open(resolved, flags.O_RDONLY | flags.O_NONBLOCK | flags.O_NOFOLLOW);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const isThere = code === 'EMFILE' || code === 'ENFILE' || code === 'EACCES';
    throw isThere ? new Error(`${path} cannot be opened (${code})`, { cause }) : missing(path, cause);
  }
}

/** Reads a file as text. Throws an Error if it is not UTF-8. */
export async function readTextWithin(folder: string, path: string): Promise<string> {
  const bytes = await readFileWithin(folder, path);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new Error(`${path} is not UTF-8`, { cause });
  }
}
