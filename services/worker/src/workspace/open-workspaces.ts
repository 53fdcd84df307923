import type { HeldThread } from '@harness/dispatch';
import { type FileLimits, openFileStore } from '@harness/workspaces';
import { createWorkspace, type Workspace } from './workspace.ts';

/** Creates the workspace of a thread's next session. */
export type OpenWorkspace = (thread: Pick<HeldThread, 'tenant' | 'files'>) => Workspace;

/** Opens the store in a folder that all workers and gateways share. */
export function openWorkspaces({ dir, limits }: { dir: string; limits: FileLimits }): OpenWorkspace {
  const store = openFileStore({ dir });
  return (thread) => createWorkspace(thread, { files: store.of(thread.tenant), limits });
}
