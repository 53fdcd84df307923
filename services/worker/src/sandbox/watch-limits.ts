import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { descendantsOf, residentBytesOf } from './process-tree.ts';

/** What all processes and files of a sandbox may take together. */
export interface SandboxLimits {
  memoryBytes: number;
  diskBytes: number;
  files: number;
}

/** How often memory is read, and how often the disk, ms: limits of single processes and files bound what happens between. */
const everyMs = { memory: 1_000, disk: 3_000 };

/** Calls `onBreach` once, with the reason, when a sandbox takes more than its limits. Returns what ends the watch. */
export function watchLimits(
  { pid, folders }: { pid: number; folders: readonly string[] },
  limits: SandboxLimits,
  onBreach: (reason: string) => void,
): () => void {
  let ended = false;
  const breach = (reason: string) => {
    if (ended) return;
    end();
    onBreach(reason);
  };
  const memory = setInterval(() => {
    const bytes = [pid, ...descendantsOf(pid)].reduce((sum, one) => sum + residentBytesOf(one), 0);
    if (bytes > limits.memoryBytes) breach(`more than ${mib(limits.memoryBytes)} MiB of memory`);
  }, everyMs.memory).unref();
  let measuring = false;
  const disk = setInterval(() => {
    if (measuring) return;
    measuring = true;
    void sizeOf(folders, limits)
      .then(({ bytes, files }) => {
        if (bytes > limits.diskBytes) breach(`more than ${mib(limits.diskBytes)} MiB of files`);
        else if (files > limits.files) breach(`more than ${limits.files} files`);
      })
      .finally(() => {
        measuring = false;
      });
  }, everyMs.disk).unref();
  const end = () => {
    ended = true;
    clearInterval(memory);
    clearInterval(disk);
  };
  return end;
}

const mib = (bytes: number) => Math.round(bytes / 1024 / 1024);

/** Bytes on disk and number of files below the folders; stops counting beyond the limits. */
export async function sizeOf(
  folders: readonly string[],
  limits: Pick<SandboxLimits, 'diskBytes' | 'files'>,
): Promise<{ bytes: number; files: number }> {
  const open = [...folders];
  let [bytes, files] = [0, 0];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(folder, entry.name);
      files++;
      if (entry.isDirectory()) open.push(path);
      else
        bytes += await lstat(path).then(
          ({ blocks }) => blocks * 512,
          () => 0,
        );
      if (bytes > limits.diskBytes || files > limits.files) return { bytes, files };
    }
  }
  return { bytes, files };
}
