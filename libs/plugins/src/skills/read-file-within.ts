import { constants as flags } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** Of SKILL.md, of an agent, and of any file that a tool hands out, bytes. */
export const maxFileBytes = 256 * 1024;

export const isWithin = (folder: string, path: string) =>
  path === folder || path.startsWith(`${folder}${sep}`);

/**
 * A regular file below the folder, at most so large. What is read is what was opened: the path is resolved after that,
 * and must lead to the same file. Throws an Error whose message may be shown.
 */
export async function readFileWithin(folder: string, path: string, limit = maxFileBytes): Promise<Buffer> {
  let file: FileHandle;
  try {
    // Not to wait for the other end of a pipe.
    file = await open(join(folder, path), flags.O_RDONLY | flags.O_NONBLOCK);
  } catch {
    throw new Error(`there is no file ${path}`);
  }
  try {
    const opened = await file.stat();
    if (!opened.isFile()) throw new Error(`${path} is no regular file`);
    const resolved = await realpath(join(folder, path));
    const found = await stat(resolved);
    if (!isWithin(folder, resolved) || found.ino !== opened.ino || found.dev !== opened.dev)
      throw new Error(`${path} leads out of the skill's folder`);
    if (opened.size > limit) throw new Error(`${path} has ${opened.size} bytes; at most ${limit} are read`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
