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
  { pid, workspace, home }: { pid: number; workspace: string; home: string },
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
    const check = async (folder: string, most: Pick<SandboxLimits, 'diskBytes' | 'files'>) => {
      const { bytes, files } = await sizeOf(folder, most);
      if (bytes > most.diskBytes) breach(`more than ${mib(most.diskBytes)} MiB of files`);
      else if (files > most.files) breach(`more than ${most.files} files`);
    };
    void Promise.all([check(workspace, limits), check(home, ofHome)]).finally(() => {
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

/** The agent's own files: its configuration and transcripts. */
const ofHome = { diskBytes: 512 * 1024 * 1024, files: 50_000 };

const mib = (bytes: number) => Math.round(bytes / 1024 / 1024);

/** Bytes on disk and number of files below a folder; stops counting beyond the limits. */
async function sizeOf(
  root: string,
  limits: Pick<SandboxLimits, 'diskBytes' | 'files'>,
): Promise<{ bytes: number; files: number }> {
  const open = [root];
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
