import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Creates a folder of this process for what its sandboxes need, and deletes those of processes that have died. `name`: the kind of
 * process. Every user may enter it, but not list it.
 */
export async function openScratchFolder(name: string): Promise<string> {
  const prefix = `${name}-`;
  await sweepDead(prefix);
  const root = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  await chmod(root, 0o711);
  return root;
}

const run = promisify(execFile);

/**
 * Deletes a folder, whatever a sandbox has made of it: folders without permissions, or nested deeper than the longest path. For these it
 * uses the system's commands, which do not need whole paths.
 */
export async function removeAll(path: string): Promise<void> {
  try {
    // Retries: a child of the session may still be writing there.
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    await run('chmod', ['-R', 'u+rwX', path]).catch(() => undefined); // not all may be this user's
    await run('rm', ['-rf', path]);
  }
}

/** Deletes the folders of killed processes, by the pid in their names; those that another user has left, stay. */
async function sweepDead(prefix: string): Promise<void> {
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
