/**
 * The files of a thread where its session works: restored from a version before the session starts, brought up to date before
 * each turn, and stored as a version after it.
 *
 * This folder:
 *   open-workspaces.ts   creates workspaces of this worker
 *   keep-files.ts        the files at the end of a turn
 *   skill-folders.ts     files of skills, which sessions can read
 *   attachments.ts       files of a message that the model sees
 */
import type { FileChanges } from '@harness/contracts';
import type { HeldThread, Turn } from '@harness/dispatch';
import {
  type FileLimits,
  fileChangesOf,
  type Owner,
  type Snapshot,
  type TenantFiles,
} from '@harness/workspaces';

import { attachmentsOf, type PromptBlock } from './attachments.ts';

/** The workspace of one session. Methods throw `file_damaged` and `storage_full`: then the session must end. */
export interface Workspace {
  /** Puts the thread's version into the session's folder, before it starts. */
  fill(folder: string, owner: Owner | undefined): Promise<void>;
  /** Before a turn: brings the folder to the thread's current version, with the files of the message; returns them for the model. */
  prepare(turn: Pick<Turn, 'files' | 'filesIn'>): Promise<PromptBlock[]>;
  /**
   * After a turn, when nothing runs in the folder: stores it. Returns what differs from the thread's version, and what no
   * version can hold; undefined = nothing, or the same as before. Throws `limit_reached`.
   */
  keep(): Promise<FileChanges | undefined>;
  /** Keeps the folder after the session's end until the returned function is called. */
  hold(): () => void;
  /** Resolves when no hold keeps the folder. */
  released(): Promise<void>;
}

/** Creates the workspace of a session that is about to start for the thread. */
export function createWorkspace(
  thread: Pick<HeldThread, 'files'>,
  { files, limits }: { files: TenantFiles; limits: FileLimits },
): Workspace {
  let folder = '';
  let owner: Owner | undefined;
  /** What the folder holds; undefined = nothing yet. */
  let held: Snapshot | undefined;
  /** The thread's version. */
  let version = thread.files;
  /** What the latest version lacks, as JSON. */
  let lacked = '[]';
  let holds = 0;
  let onReleased: (() => void)[] = [];

  const hold = async (wanted: string): Promise<void> => {
    if (held?.version === wanted) return;
    held = held
      ? await files.update(held, wanted, { folder, owner })
      : await files.restore(wanted, folder, owner);
  };

  return {
    async fill(path, user) {
      folder = path;
      owner = user;
      if (version !== undefined) await hold(version);
    },
    async prepare(turn) {
      version = turn.files;
      if (version !== undefined) await hold(version);
      if (turn.filesIn === undefined) return [];
      const merged = await files.merge(version, turn.filesIn, limits);
      await hold(merged.version);
      return attachmentsOf(files, turn.filesIn);
    },
    async keep() {
      held = await files.snapshot(folder, { limits, previous: held });
      const { skipped } = held;
      const lacks = JSON.stringify(skipped);
      const isSame = held.version === version || (version === undefined && held.manifest.entries.size === 0);
      if (isSame && lacks === lacked) return undefined;
      lacked = lacks;
      // Since the thread's version: what came with the message counts, too.
      const changes = await files.changes(version, held.version);
      version = held.version;
      return fileChangesOf({ version, changes, skipped });
    },
    hold() {
      holds++;
      return () => {
        holds--;
        if (holds > 0) return;
        for (const resolve of onReleased) resolve();
        onReleased = [];
      };
    },
    released: () => (holds === 0 ? Promise.resolve() : new Promise((resolve) => onReleased.push(resolve))),
  };
}
