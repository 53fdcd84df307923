import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openScratchFolder, removeAll } from '@harness/sandbox';

/**
 * Folders of sessions. Each session has its own HOME, configuration, temporary and working directory,
 * separate from those of the machine's user and of other sessions. They are deleted together.
 */
export interface SessionHomes {
  readonly root: string;
  /** Creates the folder if it does not exist. `name` becomes a folder name, so it must be safe. */
  open(name: string): SessionHome;
  remove(name: string): Promise<void>;
  /** Deletes all folders. */
  close(): Promise<void>;
}

/** The working directory and the environment variables of one session. */
export interface SessionHome {
  /** The folder that holds all of it. */
  root: string;
  cwd: string;
  env: Record<string, string>;
}

/** Creates the root folder, and deletes those of workers that have died. */
export async function openSessionHomes(): Promise<SessionHomes> {
  const root = await openScratchFolder('harness-worker');
  return {
    root,
    open(name) {
      const all = join(root, name);
      const home = join(all, 'home');
      const cwd = join(all, 'work');
      const run = join(home, 'run');
      for (const dir of [cwd, run]) mkdirSync(dir, { recursive: true, mode: 0o700 });
      const env = {
        HOME: home,
        CLAUDE_CONFIG_DIR: join(home, '.claude'),
        XDG_RUNTIME_DIR: run,
        CLAUDE_CODE_TMPDIR: run,
      };
      return { root: all, cwd, env };
    },
    remove: (name) => removeAll(join(root, name)),
    close: () => removeAll(root),
  };
}
