/** Making files durable, and errors of a full disk. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { AppError } from '@harness/contracts';

/** From so many files on, one syncfs of the whole file system is cheaper than an fsync for each. */
const fewFiles = 8;

/**
 * Returns when everything written to these files or folders is on disk. `anyPath`: one on the same file system.
 * Node has no syncfs; the command `sync -f` calls it.
 */
export async function makeDurable(paths: readonly string[], anyPath: string): Promise<void> {
  if (paths.length > fewFiles && process.platform === 'linux') {
    const isDone = await promisify(execFile)('sync', ['-f', anyPath]).then(
      () => true,
      () => false, // no such command: one by one
    );
    if (isDone) return;
  }
  await eachOf(paths, syncOne);
}

async function syncOne(path: string): Promise<void> {
  const file = await open(path, constants.O_RDONLY);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Calls `handle` for all items, at most `atOnce` at the same time. Waits for those that run when one throws. */
export async function eachOf<T>(
  items: Iterable<T>,
  handle: (item: T) => Promise<void>,
  atOnce = 16,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const work = async () => {
    for (let next = iterator.next(); !next.done && failures.length === 0; next = iterator.next())
      await handle(next.value).catch((error) => failures.push(error));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  if (failures.length > 0) throw failures[0];
}

/** A full disk as `storage_full`; any other error as it is. */
export function storageError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  const message =
    'The disk that holds the files is full, so nothing was stored. Free space there, then repeat.';
  return new AppError('storage_full', message, { cause: error });
}

/** Gives other work of the process a turn when this one has run for `forMs`. */
export function createPause(forMs = 6): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < forMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now();
        resolve();
      });
    });
  };
}
