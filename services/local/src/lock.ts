/**
 * One `npm start` per folder: `lock` names its holder. A holder that is dead (killed, or the machine was restarted)
 * loses the lock to the next who asks. Synchronous, so that it can be let go of while the process exits.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@harness/runtime';
import { z } from 'zod';

const Holder = z.object({
  pid: z.int().positive(),
  startedAt: z.string(),
  /** Tells a process from a later one with the same pid; absent where the platform does not say. */
  born: z.string().optional(),
});
type Holder = z.infer<typeof Holder>;

/** Takes the lock in `folder`, or throws a ConfigError that names the living holder. */
export function lockFolder(folder: string): { release(): void } {
  const path = join(folder, 'lock');
  const mine = JSON.stringify(describeHolder(process.pid));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (;;) {
    if (createAnew(path, mine)) return { release: () => removeIf(path, mine) };
    const text = readIfThere(path);
    if (text === undefined) continue; // released meanwhile
    const holder = parseHolder(text);
    if (holder && isAlive(holder)) {
      throw new ConfigError(
        `Already running here: process ${holder.pid} holds ${folder} since ${holder.startedAt}.`,
      );
    }
    removeIf(path, text);
  }
}

/** Linked into place with its text complete: no reader ever sees a lock without its holder. */
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

/** Removes the lock if it still says `text`. Moved aside first, so that of two who remove it one does. */
function removeIf(path: string, text: string): void {
  const aside = `${path}.${process.pid}.old`;
  try {
    renameSync(path, aside);
  } catch {
    return; // somebody else was faster
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
    return undefined; // torn by a crash: nobody's
  }
}

export function describeHolder(pid: number): Holder {
  const born = birthOf(pid);
  return { pid, startedAt: new Date().toISOString(), ...(born && { born }) };
}

function isAlive({ pid, born }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return false; // EPERM: alive, another user's
  }
  const now = birthOf(pid);
  if (born && now) return born === now;
  return pid !== process.pid; // my own pid in a lock that I did not write: a container's restart
}

/** The boot and the clock tick a process started at (Linux; proc(5), field 22, counted after the name in brackets). */
function birthOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${boot} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  } catch {
    return undefined;
  }
}
