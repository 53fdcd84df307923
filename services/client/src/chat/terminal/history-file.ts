/** The history of typed lines, in a file. */
import { appendFile, chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Number of lines that are kept. */
export const maxHistory = 1_000;

/** The history of this and earlier terminals. */
export interface History {
  /** Latest first, as node:readline requires. */
  lines: string[];
  /** Never rejects: the chat works without a history. */
  add(line: string): Promise<void>;
}

/**
 * Opens the history file, which all terminals of a user share. It may contain secrets, so only the user can read it
 * (0600). `warn` is called at most once, if the file cannot be used.
 */
export async function openHistory(file: string, warn: (problem: string) => void): Promise<History> {
  let usable = true;
  const onError = (error: Error) => {
    if (usable) warn(`The history cannot be saved: ${error.message}`);
    usable = false;
  };
  const kept = await load(file).catch((error: Error) => {
    onError(error);
    return [];
  });
  return {
    lines: kept.toReversed(),
    async add(line) {
      if (usable) await appendFile(file, `${line}\n`, { mode: 0o600 }).catch(onError);
    },
  };
}

/** Reads the lines, oldest first. Creates a missing file, and shortens one that is too long. */
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
