import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

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

const prefix = 'harness-worker-';

/** Creates the root folder, and deletes those of workers that have died. */
export async function openSessionHomes(): Promise<SessionHomes> {
  await sweepDeadHomes();
  const root = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  await chmod(root, 0o711); // sessions of other users reach their folders, and see no names
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

const run = promisify(execFile);

/**
 * Deletes a folder, whatever a session has made of it: folders without permissions, or nested deeper than a path can name. Those are
 * for the system's commands, which need no paths.
 */
async function removeAll(path: string): Promise<void> {
  try {
    // Retries: a child of the session may still be writing there.
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    await run('chmod', ['-R', 'u+rwX', path]).catch(() => undefined); // not all may be this user's
    await run('rm', ['-rf', path]);
  }
}

/** Deletes the folders of killed workers, by the pid in their names; those that another user has left, stay. */
async function sweepDeadHomes(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length).split('-')[0]) : Number.NaN;
    if (Number.isInteger(pid) && !isAlive(pid)) await removeAll(join(tmpdir(), name)).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
