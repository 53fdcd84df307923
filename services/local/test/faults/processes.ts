import { readdirSync, readFileSync } from 'node:fs';

/** A process, told from a later one with the same number by when it started. */
export interface ProcessSeen {
  pid: number;
  parent: number;
  /** Clock ticks since boot. */
  startedAt: string;
  command: string;
}

/** What is in a process's /proc file; empty when it has gone, or is not ours to read. */
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
    // The name, in brackets, may hold anything; the fields after it are plain.
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

/** Those that still run, of processes seen before. */
export function survivorsOf(seen: readonly ProcessSeen[]): ProcessSeen[] {
  const known = new Set(seen.map(({ pid, startedAt }) => `${pid} ${startedAt}`));
  return listProcesses().filter(({ pid, startedAt }) => known.has(`${pid} ${startedAt}`));
}

/** Processes that carry `text` in their environment: whoever started them, and whoever they belong to now. */
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
