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
 * Reads a regular file below the folder that is not hidden and has at most `limit` bytes. The path is resolved after the
 * file is opened and must point to the same file, so that a link cannot be swapped in between. Throws an Error whose
 * message may be shown.
 */
export async function readFileWithin(folder: string, path: string, limit = maxFileBytes): Promise<Buffer> {
  let file: FileHandle;
  try {
    // Non-blocking, so that opening a named pipe does not wait for its writer.
    file = await open(join(folder, path), flags.O_RDONLY | flags.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const isThere = code === 'EMFILE' || code === 'ENFILE' || code === 'EACCES';
    throw new Error(isThere ? `${path} cannot be opened (${code})` : `there is no file ${path}`, { cause });
  }
  try {
    const opened = await file.stat();
    if (!opened.isFile()) throw new Error(`${path} is not a regular file`);
    const resolved = await realpath(join(folder, path));
    const found = await stat(resolved);
    if (!isWithin(folder, resolved) || found.ino !== opened.ino || found.dev !== opened.dev)
      throw new Error(`${path} points outside its folder`);
    if (isHidden(path) || isHidden(resolved.slice(folder.length)))
      throw new Error(`${path} is hidden: names that begin with a dot are not read`);
    if (opened.size > limit) throw new Error(`${path} has ${opened.size} bytes; at most ${limit} are read`);
    // Reads the size at opening, because the file may grow.
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(opened.size), position: 0 });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
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
