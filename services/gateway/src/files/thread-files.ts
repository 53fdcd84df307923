/**
 * Files of threads as callers read and change them.
 *
 * This folder:
 *   task-files.ts     files of sub-agents, for the agents that delegated to them
 *   collect-files.ts  garbage collection, by one gateway of the fleet
 */
import {
  AppError,
  builtInToolsOf,
  type FileChanges,
  type MessageFile,
  type Thread,
  type WorkspaceMode,
} from '@harness/contracts';
import type { Dispatch } from '@harness/dispatch';
import {
  type Edit,
  type FileLimits,
  type FileStore,
  fileChangesOf,
  type Manifest,
  type TenantFiles,
} from '@harness/workspaces';

/** The store and what it may hold; absent where there are no workspaces. */
export interface FileSettings {
  store: FileStore;
  /** The files of skills, for sessions. Absent: sessions do not find them. */
  skills?: TenantFiles | undefined;
  limits: FileLimits;
}

/** A thread of a tenant, by its own id or its name. */
export interface ThreadRef {
  tenant: string;
  threadId: string;
}

/** A version of a thread's files, in the store. */
export interface ThreadVersion {
  store: TenantFiles;
  /** Undefined: the thread had no files. */
  version: string | undefined;
}

/** Files of threads. Every method throws `workspace_refused` where there are no workspaces, and `thread_not_found`. */
export interface ThreadFiles {
  /** The version now, or after a run. Throws `run_not_found`; `file_not_found` for a run that has not ended. */
  at(thread: ThreadRef, runId?: string): Promise<ThreadVersion>;
  /** The version by the id of one of the thread's runs, or by its digest. Throws like `at`, and `file_not_found`. */
  named(thread: ThreadRef, name: string): Promise<ThreadVersion>;
  /**
   * Stores edits whose content can be read only once, for `change`. Throws `invalid_request`, `limit_reached`,
   * `body_too_large`.
   */
  stage(tenant: string, edits: AsyncIterable<Edit> | Iterable<Edit>, mostBytes: number): Promise<Edit[]>;
  /**
   * Changes the current version; repeats the change if another caller was faster. `check` gets the version that the change is
   * based on, and may throw. Throws `run_in_progress` during a turn, and what `edit` throws.
   */
  change(
    thread: ThreadRef,
    edits: readonly Edit[],
    check?: (files: Manifest | undefined) => void,
  ): Promise<FileChanges>;
  /**
   * Stores the files of a message: their version. Undefined: it has none. Throws `workspace_refused` for a thread whose sessions
   * would not find them.
   */
  ofMessage(thread: ThreadRef, files: readonly MessageFile[] | undefined): Promise<string | undefined>;
}

/** How often a change is tried when others change the same thread's files at the same time. */
const maxTries = 10;

/** Creates the access to files of threads; without settings every method refuses. */
export function createThreadFiles({
  dispatch,
  files,
  workspaces,
}: {
  dispatch: Dispatch;
  files?: FileSettings | undefined;
  workspaces?: WorkspaceMode | undefined;
}): ThreadFiles {
  const settings = (): FileSettings => {
    if (files) return files;
    throw new AppError(
      'workspace_refused',
      'Threads have no files here: HARNESS_WORKSPACES is off. Set it to auto or on, at gateways and workers.',
    );
  };
  const storeOf = ({ tenant }: Pick<ThreadRef, 'tenant'>) => settings().store.of(tenant);
  const threadOf = async ({ tenant, threadId }: ThreadRef): Promise<Thread> => {
    const thread = await dispatch.threads.get(tenant, threadId);
    if (thread.workspace !== false) return thread;
    throw new AppError(
      'workspace_refused',
      'This thread was created without a workspace, so it has no files.',
    );
  };
  const afterRun = async ({ tenant, threadId }: ThreadRef, runId: string) => {
    const { status, files } = await dispatch.runs.get(tenant, threadId, runId);
    if (status === 'pending' || status === 'running')
      throw new AppError(
        'file_not_found',
        `Run ${runId} has not ended, so there are no files after it yet. Read them when it has ended.`,
      );
    return files ?? undefined;
  };
  const at: ThreadFiles['at'] = async (thread, runId) => {
    const store = storeOf(thread);
    const { files: current } = await threadOf(thread);
    const version = runId === undefined ? (current ?? undefined) : await afterRun(thread, runId);
    return { store, version };
  };
  return {
    at,
    async named(thread, name) {
      if (name.startsWith('run_')) return at(thread, name);
      const { store } = await at(thread);
      await store.manifest(name).catch((error) => {
        if (!(error instanceof AppError) || error.code !== 'file_damaged') throw error;
        throw new AppError(
          'file_not_found',
          `There is no version ${name} of files. Name a run of this thread, or a version that a run had.`,
        );
      });
      return { store, version: name };
    },
    async stage(tenant, edits, mostBytes) {
      const { limits } = settings();
      const bytes = Math.min(limits.bytes, mostBytes);
      return storeOf({ tenant }).stage(edits, { ...limits, bytes });
    },
    async change(thread, edits, check) {
      const { limits } = settings();
      const store = storeOf(thread);
      for (let tries = 1; ; tries++) {
        const current = (await threadOf(thread)).files ?? undefined;
        check?.(current === undefined ? undefined : await store.manifest(current));
        const edited = await store.edit(current, edits, limits);
        const change = fileChangesOf(edited);
        try {
          if (edited.version !== current) await dispatch.files.set(thread, current, change);
          return change;
        } catch (error) {
          const isRaced = error instanceof AppError && error.code === 'precondition_failed';
          if (!isRaced || tries >= maxTries) throw error;
        }
      }
    },
    async ofMessage(thread, sent) {
      if (!sent || sent.length === 0) return undefined;
      const { limits } = settings();
      const { workspace } = await threadOf(thread);
      if (workspaces === 'auto' && !workspace) {
        const allowedTools = await dispatch.threads.toolsOf(thread.tenant, thread.threadId);
        if (!builtInToolsOf({ allowedTools }, workspaces)) throw noWorkspace();
      }
      const edits = sent.map(({ path, contentBase64 }) => ({
        path,
        put: Buffer.from(contentBase64, 'base64'),
      }));
      return (await storeOf(thread).edit(undefined, edits, limits)).version;
    },
  };
}

const noWorkspace = () =>
  new AppError(
    'workspace_refused',
    'This thread has no workspace, so its session would not find the files of the message. Create the thread with "workspace": true, or allow it a tool that works with files, such as Read.',
  );
