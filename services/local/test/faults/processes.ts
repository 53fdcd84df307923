import { readdirSync, readFileSync } from 'node:fs';

/** A process; its start time distinguishes it from a later one with the same id. */
export interface ProcessSeen {
  pid: number;
  parent: number;
  /** Clock ticks since boot. */
  startedAt: string;
  command: string;
}

/** The content of a process's /proc file; empty when it has ended, or may not be read. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

export function listProcesses(): ProcessSeen[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.flatMap((pid) => {
    const stat = readProc(pid, 'stat');
    // The name, in parentheses, may contain anything; the fields after it are simple.
    const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (stat === '' || state === 'Z') return [];
    const command = readProc(pid, 'cmdline').replaceAll('\0', ' ').trim();
    return [{ pid, parent: Number(parent), startedAt: rest[17] ?? '', command }];
  });
}

export function descendantsOf(pid: number, all = listProcesses()): ProcessSeen[] {
  const children = all.filter(({ parent }) => parent === pid);
  return children.flatMap((child) => [child, ...descendantsOf(child.pid, all)]);
}

/** Of processes seen before, those that still run. */
export function survivorsOf(seen: readonly ProcessSeen[]): ProcessSeen[] {
  const known = new Set(seen.map(({ pid, startedAt }) => `${pid} ${startedAt}`));
  return listProcesses().filter(({ pid, startedAt }) => known.has(`${pid} ${startedAt}`));
}

/** Processes with `text` in their environment, whatever started them and whatever their parent is now. */
export const processesWith = (text: string): ProcessSeen[] =>
  listProcesses().filter(({ pid }) => pid !== process.pid && readProc(pid, 'environ').includes(text));

export function countFiles(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** Resident memory, bytes. */
export const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readProc(pid, 'status'))?.[1] ?? 0) * 1024;
