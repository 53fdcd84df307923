import { lstat, realpath } from 'node:fs/promises';
import { type FSWatcher, watch } from 'chokidar';

export interface Watching {
  /** To be called before each reading: what is changed after it is told. */
  aim(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Tells that something has changed below a folder, which need not be there yet. Links within it are not followed: they
 * may lead anywhere. The folder may be a link itself, and be made to lead to another one.
 */
export function followTree(
  directory: string,
  { onEvent, onError }: { onEvent(): void; onError(error: unknown): void },
): Watching {
  let watcher: FSWatcher | undefined;
  let watched = '';
  return {
    async aim() {
      const target = await targetOf(directory);
      if (watched === target) return;
      await watcher?.close();
      watched = target;
      watcher = watch([...new Set([directory, target])], { ignoreInitial: true, followSymlinks: false });
      watcher.on('all', onEvent).on('error', onError);
      await new Promise<void>((resolve) => watcher?.once('ready', () => resolve()));
    },
    close: async () => watcher?.close(),
  };
}

/** Where a link leads; else the folder itself. */
async function targetOf(directory: string): Promise<string> {
  try {
    return (await lstat(directory)).isSymbolicLink() ? await realpath(directory) : directory;
  } catch {
    return directory; // not there yet
  }
}
