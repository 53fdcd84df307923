import { readdirSync, readFileSync } from 'node:fs';

const pageBytes = 4096;

/** The processes below a process, each after its parent; empty when it has ended. */
export function descendantsOf(pid: number): number[] {
  const found: number[] = [];
  const open = [pid];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const children = childrenOf(next);
    found.push(...children);
    open.push(...children);
  }
  return found;
}

/** Its children, the oldest first. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' '))
      .filter((child) => child !== '')
      .map(Number);
  } catch {
    return []; // it has ended meanwhile
  }
}

/** Memory that a process has to itself or shares, bytes; 0 when it has ended. */
export function residentBytesOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes;
  } catch {
    return 0;
  }
}

/** Where the state and the number of threads are in /proc/<pid>/stat, after the name. */
const statFields = { state: 0, threads: 17 };

/** Whether a process has ended, with all of its threads, and its parent has not read its exit yet. */
export function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ['Z', 'X'].includes(fields[statFields.state] ?? '') && Number(fields[statFields.threads]) <= 1;
  } catch {
    return false; // its parent has already read its exit
  }
}
