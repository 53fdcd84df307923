import { AppError, type WorkerInfo } from '@harness/contracts';

/** Throws `workspace_refused` for a request that asks for a workspace (`isAsked`) where there can be none. */
export type RefuseWorkspace = (isAsked: boolean) => Promise<void>;

/**
 * `off`: why there are no workspaces at all; undefined = there are, unless no living worker has a sandbox. A fleet without workers
 * refuses nothing: they may be starting.
 */
export const workspaceRefusal =
  (off: string | undefined, workers: { list(): Promise<WorkerInfo[]> }): RefuseWorkspace =>
  async (isAsked) => {
    if (!isAsked) return;
    const reason = off ?? lackOf(await workers.list());
    if (reason === undefined) return;
    throw new AppError('workspace_refused', `This asks for a workspace, but there is none here: ${reason}`);
  };

function lackOf(workers: readonly WorkerInfo[]): string | undefined {
  const lacks = workers.map(({ sandbox }) => {
    if (sandbox?.level === 'none') return `no worker has a sandbox: ${sandbox.reason ?? 'no reason given'}.`;
    return sandbox?.level === 'off' ? 'HARNESS_WORKSPACES is off at the workers.' : undefined;
  });
  return lacks.includes(undefined) ? undefined : lacks[0];
}
