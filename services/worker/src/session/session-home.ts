import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Folders of sessions: each has its own HOME, configuration, temporary and working directory, so that nothing of the
 * machine's user and nothing of another session is in reach, and the whole is deleted at once.
 */
export interface SessionHomes {
  readonly root: string;
  /** Makes it if need be. `name` is a thread id or a hash: it becomes a folder name. */
  open(name: string): SessionHome;
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

export interface SessionHome {
  cwd: string;
  env: Record<string, string>;
}

const prefix = 'harness-worker-';

export async function openSessionHomes(): Promise<SessionHomes> {
  sweepDeadHomes();
  const root = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  return {
    root,
    open(name) {
      const home = join(root, name);
      const cwd = join(home, 'work');
      const run = join(home, 'run');
      for (const dir of [cwd, run]) mkdirSync(dir, { recursive: true, mode: 0o700 });
      const env = {
        HOME: home,
        CLAUDE_CONFIG_DIR: join(home, '.claude'),
        XDG_RUNTIME_DIR: run,
        CLAUDE_CODE_TMPDIR: run,
      };
      return { cwd, env };
    },
    // What a session's children still write there must not keep the rest.
    remove: (name) => rm(join(root, name), { recursive: true, force: true, maxRetries: 3 }),
    close: () => rm(root, { recursive: true, force: true }),
  };
}

/** A worker that was killed leaves its folders behind; the next one on the machine removes them. */
function sweepDeadHomes(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length).split('-')[0]) : Number.NaN;
    if (Number.isInteger(pid) && !isAlive(pid))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
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
