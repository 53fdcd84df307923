import { z } from 'zod';
import { ConfigError } from '../config.ts';

/** Variables of workspaces: part of the configuration of gateways and workers, which must agree on them. */
export const envWorkspaces = {
  /**
   * off: no thread has files; auto: a thread has them where it, its agent or its skill asks for them; on: each thread has
   * them unless it says otherwise.
   */
  HARNESS_WORKSPACES: z.enum(['off', 'auto', 'on']).default('off'),
  /** The folder of the files of all threads, shared by gateways and workers. */
  HARNESS_FILES_DIR: z.string().optional(),
};

/** Workspaces that are not off, and the folder of their files. */
export interface WorkspaceSettings {
  mode: 'auto' | 'on';
  filesDir: string;
}

/** The settings; undefined = off. Throws ConfigError where the folder is missing. */
export function workspacesOf({
  HARNESS_WORKSPACES: mode,
  HARNESS_FILES_DIR: filesDir,
}: {
  HARNESS_WORKSPACES: 'off' | 'auto' | 'on';
  HARNESS_FILES_DIR?: string | undefined;
}): WorkspaceSettings | undefined {
  if (mode === 'off') return undefined;
  if (filesDir === undefined)
    throw new ConfigError(
      `HARNESS_WORKSPACES=${mode} needs HARNESS_FILES_DIR: set it to a folder that all gateways and workers share.`,
    );
  return { mode, filesDir };
}
