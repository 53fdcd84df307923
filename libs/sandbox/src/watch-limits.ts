import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { namelessFilesOf } from './nameless-files.ts';
import { descendantsOf, residentBytesOf } from './process-tree.ts';

/** Limits of all processes and files of a sandbox together. */
export interface SandboxLimits {
  memoryBytes: number;
  diskBytes: number;
  files: number;
}

/** How often memory is read, and how often the disk, ms: limits of single processes and files bound what happens between. */
const everyMs = { memory: 1_000, disk: 3_000 };

/** What is watched: the sandbox's first process, and every folder of the disk that it can write to. */
export interface Watched {
  pid: number;
  workspace: string;
  /** The agent's own folders. */
  own: readonly string[];
}

/** Calls `onBreach` once, with the reason, when a sandbox takes more than its limits. Returns what ends the watch. */
export function watchLimits(
  { pid, workspace, own }: Watched,
  limits: SandboxLimits,
  onBreach: (reason: string) => void,
): () => void {
  let ended = false;
  const breach = (reason: string) => {
    if (ended) return;
    end();
    onBreach(reason);
  };
  let looking = false;
  const lookAtMemory = async () => {
    const pids = [pid, ...descendantsOf(pid)];
    const resident = pids.reduce((sum, one) => sum + residentBytesOf(one), 0);
    const { dev: disk } = await lstat(workspace);
    const nameless = await namelessFilesOf(pids, { disk, most: mostOpen });
    if (resident + nameless.memoryBytes > limits.memoryBytes)
      breach(`more than ${mib(limits.memoryBytes)} MiB of memory`);
    else if (nameless.diskBytes > limits.diskBytes)
      breach(`more than ${mib(limits.diskBytes)} MiB of files that are deleted and still open`);
    else if (nameless.open > mostOpen) breach(`more than ${mostOpen} open files`);
  };
  const memory = setInterval(() => {
    if (looking) return;
    looking = true;
    void lookAtMemory()
      .catch(() => undefined) // the session has ended
      .finally(() => {
        looking = false;
      });
  }, everyMs.memory).unref();
  let measuring = false;
  const disk = setInterval(() => {
    if (measuring) return;
    measuring = true;
    const check = async (folder: string, most: Pick<SandboxLimits, 'diskBytes' | 'files'>) => {
      const { bytes, files, closed } = await sizeOf(folder, most);
      if (closed !== undefined) breach(`a folder that cannot be measured (${closed})`);
      else if (bytes > most.diskBytes) breach(`more than ${mib(most.diskBytes)} MiB of files`);
      else if (files > most.files) breach(`more than ${most.files} files`);
    };
    const checks = [check(workspace, limits), ...own.map((folder) => check(folder, ofHome))];
    void Promise.all(checks).finally(() => {
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

/** Most files that all processes of a sandbox may have open, since each must be checked. */
const mostOpen = 50_000;

/** The agent's own files: its configuration and transcripts. */
const ofHome = { diskBytes: 512 * 1024 * 1024, files: 50_000 };

const mib = (bytes: number) => Math.round(bytes / 1024 / 1024);

/** Errors of folders that hide their content: closed to a worker of the same user, or nested too deep for a path. */
const hides = new Set(['EACCES', 'ENAMETOOLONG']);

interface Size {
  bytes: number;
  files: number;
  /** Why a folder could not be measured. */
  closed?: string;
}

/** Bytes on disk and number of files below a folder; stops counting beyond the limits. */
async function sizeOf(root: string, limits: Pick<SandboxLimits, 'diskBytes' | 'files'>): Promise<Size> {
  const open = [root];
  const size: Size = { bytes: 0, files: 0 };
  const note = ({ code = '' }: NodeJS.ErrnoException) => {
    if (hides.has(code)) size.closed = code;
  };
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch((error) => {
      note(error);
      return [];
    });
    for (const entry of entries) {
      const path = join(folder, entry.name);
      size.files++;
      if (entry.isDirectory()) open.push(path);
      else
        await lstat(path).then(({ blocks }) => {
          size.bytes += blocks * 512;
        }, note);
      if (size.closed !== undefined || size.bytes > limits.diskBytes || size.files > limits.files)
        return size;
    }
    if (size.closed !== undefined) return size;
  }
  return size;
}
