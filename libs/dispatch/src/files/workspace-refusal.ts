import { AppError } from '@harness/contracts';

/** Throws `workspace_refused` for a request that asks for a workspace (`isAsked`) where there can be none. */
export type RefuseWorkspace = (isAsked: boolean) => void;

/** `reason`: why there are no workspaces here; undefined = there are. */
export const workspaceRefusal =
  (reason: string | undefined): RefuseWorkspace =>
  (isAsked) => {
    if (!isAsked || reason === undefined) return;
    throw new AppError('workspace_refused', `This asks for a workspace, but there is none here: ${reason}`);
  };
