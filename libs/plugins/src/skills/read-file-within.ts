import { constants as flags } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Diagnostic } from '@harness/plugin-kit';

/** Of SKILL.md, of an agent, and of any file that a tool hands out, bytes. */
export const maxFileBytes = 256 * 1024;

export const isWithin = (folder: string, path: string) =>
  path === folder || path.startsWith(`${folder}${sep}`);

/** What is not there was taken away; what cannot be read is broken. */
export const levelOf = (error: unknown): Diagnostic['level'] =>
  (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' ? 'warning' : 'error';

/** Below a folder: `.env`, or anything in `.git`. They are there for others than readers. */
export const isHidden = (path: string) => /(^|[\\/])\.[^./\\]/.test(path);

/**
 * A regular file below the folder that is not hidden, at most so large. What is read is what was opened: the path is
 * resolved after that, and must lead to the same file. Throws an Error whose message may be shown.
 */
export async function readFileWithin(folder: string, path: string, limit = maxFileBytes): Promise<Buffer> {
  let file: FileHandle;
  try {
    // Not to wait for the other end of a pipe.
    file = await open(join(folder, path), flags.O_RDONLY | flags.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const isThere = code === 'EMFILE' || code === 'ENFILE' || code === 'EACCES';
    throw new Error(isThere ? `${path} cannot be opened (${code})` : `there is no file ${path}`, { cause });
  }
  try {
    const opened = await file.stat();
    if (!opened.isFile()) throw new Error(`${path} is no regular file`);
    const resolved = await realpath(join(folder, path));
    const found = await stat(resolved);
    if (!isWithin(folder, resolved) || found.ino !== opened.ino || found.dev !== opened.dev)
      throw new Error(`${path} leads out of its folder`);
    if (isHidden(path) || isHidden(resolved.slice(folder.length))) throw new Error(`${path} is hidden`);
    if (opened.size > limit) throw new Error(`${path} has ${opened.size} bytes; at most ${limit} are read`);
    // What it had when it was opened: it may grow meanwhile.
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(opened.size), position: 0 });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The same as text. Throws an Error for what is not UTF-8. */
export async function readTextWithin(folder: string, path: string): Promise<string> {
  const bytes = await readFileWithin(folder, path);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new Error(`${path} is not UTF-8`, { cause });
  }
}
