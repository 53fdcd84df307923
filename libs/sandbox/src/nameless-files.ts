import { readdir, stat } from 'node:fs/promises';

/** Open files without a name in any folder: deleted ones, and those that never had one. */
export interface NamelessFiles {
  /** Of files in memory, bytes. */
  memoryBytes: number;
  /** Of files on the disk, bytes. */
  diskBytes: number;
  /** How many files of any kind the processes have open. */
  open: number;
}

/**
 * Sums up the nameless files of processes; `disk`: the number of the device that counts as the disk. Stops when more than `most`
 * files are open. Processes that have ended, or that this user may not inspect, are left out.
 */
export async function namelessFilesOf(
  pids: readonly number[],
  { disk, most }: { disk: number; most: number },
): Promise<NamelessFiles> {
  const sum: NamelessFiles = { memoryBytes: 0, diskBytes: 0, open: 0 };
  const known = new Set<string>();
  for (const pid of pids) {
    const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
    sum.open += names.length;
    if (sum.open > most) return sum;
    for (const name of names) {
      const found = await stat(`/proc/${pid}/fd/${name}`).catch(() => undefined);
      const key = `${found?.dev}:${found?.ino}`;
      if (!found?.isFile() || found.nlink > 0 || known.has(key)) continue;
      known.add(key);
      if (found.dev === disk) sum.diskBytes += found.blocks * 512;
      else sum.memoryBytes += found.blocks * 512;
    }
  }
  return sum;
}
