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

/** Whether a process has ended and only waits for its parent to notice. */
export function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return ['Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2)[0] ?? 'X');
  } catch {
    return true;
  }
}
