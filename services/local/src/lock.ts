/**
 * Allows one `npm start` per folder: the file `lock` names its holder. If the holder no longer runs (it was killed, or the
 * machine restarted), the next process takes the lock. Synchronous, so that it can be released while the process exits.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@harness/runtime';
import { z } from 'zod';

const Holder = z.object({
  pid: z.int().positive(),
  startedAt: z.string(),
  /** Distinguishes a process from a later one with the same pid; absent on platforms without /proc. */
  born: z.string().optional(),
});
type Holder = z.infer<typeof Holder>;

/** Takes the lock in `folder`. Throws a ConfigError with the holder if another process has it. */
export function lockFolder(folder: string): { release(): void } {
  const path = join(folder, 'lock');
  const mine = JSON.stringify(describeHolder(process.pid));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (;;) {
    if (createAnew(path, mine)) return { release: () => removeIf(path, mine) };
    const text = readIfThere(path);
    if (text === undefined) continue; // released in between
    const holder = parseHolder(text);
    if (holder && isAlive(holder)) {
      throw new ConfigError(
        `Already running here: process ${holder.pid} holds ${folder} since ${holder.startedAt}. Stop it first.`,
      );
    }
    removeIf(path, text);
  }
}

/** Creates the lock by linking a complete file, so that no reader sees a lock without its holder. False if it exists. */
function createAnew(path: string, text: string): boolean {
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, text, { mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw cause;
  } finally {
    rmSync(draft, { force: true });
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Removes the lock if it still contains `text`. Renames it first, so that only one of two processes removes it. */
function removeIf(path: string, text: string): void {
  const aside = `${path}.${process.pid}.old`;
  try {
    renameSync(path, aside);
  } catch {
    return; // another process was faster
  }
  try {
    if (readFileSync(aside, 'utf8') !== text) linkSync(aside, path);
  } finally {
    rmSync(aside, { force: true });
  }
}

function parseHolder(text: string): Holder | undefined {
  try {
    return Holder.parse(JSON.parse(text));
  } catch {
    return undefined; // incomplete because of a crash: the lock has no holder
  }
}

/** The content of a lock for a process. */
export function describeHolder(pid: number): Holder {
  const born = birthOf(pid);
  return { pid, startedAt: new Date().toISOString(), ...(born && { born }) };
}

function isAlive({ pid, born }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return false; // EPERM: the process runs, for another user
  }
  const now = birthOf(pid);
  if (born && now) return born === now;
  return pid !== process.pid; // this process's pid in an older lock: a container was restarted
}

/** The boot id and the start time of a process in clock ticks (Linux; proc(5), field 22, after the name in parentheses). */
function birthOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${boot} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  } catch {
    return undefined;
  }
}
