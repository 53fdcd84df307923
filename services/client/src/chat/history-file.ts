import { appendFile, chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Lines that are kept. */
export const maxHistory = 1_000;

export interface History {
  /** Latest first, as node:readline wants it. */
  lines: string[];
  /** Never rejects: a history that cannot be written is no reason to stop. */
  add(line: string): Promise<void>;
}

/** What was typed, over all terminals of this person; it may hold secrets, so nobody else reads it (0600). */
export async function openHistory(file: string, warn: (problem: string) => void): Promise<History> {
  let usable = true;
  const tell = (error: Error) => {
    if (usable) warn(`The history is not kept: ${error.message}`);
    usable = false;
  };
  const kept = await load(file).catch((error: Error) => {
    tell(error);
    return [];
  });
  return {
    lines: kept.toReversed(),
    async add(line) {
      if (usable) await appendFile(file, `${line}\n`, { mode: 0o600 }).catch(tell);
    },
  };
}

/** Oldest first. Makes the file where there is none, and shortens one that has grown too long. */
async function load(file: string): Promise<string[]> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const lines = text.split('\n').filter((line) => line !== '');
  const kept = lines.slice(-maxHistory);
  if (text === '' || lines.length > 2 * maxHistory)
    await writeFile(file, kept.map((line) => `${line}\n`).join(''), { mode: 0o600 });
  await chmod(file, 0o600);
  return kept;
}
