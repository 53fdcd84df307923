import { lstat, realpath } from 'node:fs/promises';
import { type FSWatcher, watch } from 'chokidar';

/** A watch on a folder. */
export interface Watching {
  /** Call it before each read: every later change causes an event. */
  aim(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Calls `onEvent` when something changes below a folder, which need not exist yet. Links within it are not followed,
 * because they may point anywhere. The folder itself may be a link, and the link may change.
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

/** The target of a link; otherwise the folder itself. */
async function targetOf(directory: string): Promise<string> {
  try {
    return (await lstat(directory)).isSymbolicLink() ? await realpath(directory) : directory;
  } catch {
    return directory; // does not exist yet
  }
}
