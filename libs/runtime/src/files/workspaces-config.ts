import { z } from 'zod';
import { ConfigError, envInteger } from '../config.ts';

/** Variables of workspaces: part of the configuration of gateways and workers, which must agree on them. */
export const envWorkspaces = {
  /**
   * off: no thread has files; auto: a thread has them where it, its agent or its skill asks for them; on: each thread has
   * them unless it says otherwise.
   */
  HARNESS_WORKSPACES: z.enum(['off', 'auto', 'on']).default('off'),
  /** The folder of the files of all threads, shared by gateways and workers. */
  HARNESS_FILES_DIR: z.string().optional(),
  /** Largest sum of the files of one thread, MiB. */
  HARNESS_THREAD_FILES_MB: envInteger(1, 1_048_576).default(1_024),
  /** Most files and folders of one thread. */
  HARNESS_THREAD_FILES: envInteger(1, 10_000_000).default(100_000),
  /** Largest sum of the files of one tenant, all threads and versions, MiB; equal files count once. */
  HARNESS_TENANT_FILES_MB: envInteger(1, 1_073_741_824).default(20_480),
};

const mib = 1024 * 1024;

/** Workspaces that are not off, and the folder of their files. */
export interface WorkspaceSettings {
  mode: 'auto' | 'on';
  filesDir: string;
  /** Limits of one thread's files (`bytes`, `files`) and of all files of a tenant (`tenantBytes`). */
  fileLimits: { bytes: number; files: number; tenantBytes: number };
}

/** The settings; undefined = off. Throws ConfigError where the folder is missing. */
export function workspacesOf(
  config: z.output<z.ZodObject<typeof envWorkspaces>>,
): WorkspaceSettings | undefined {
  const { HARNESS_WORKSPACES: mode, HARNESS_FILES_DIR: filesDir } = config;
  if (mode === 'off') return undefined;
  if (filesDir === undefined)
    throw new ConfigError(
      `HARNESS_WORKSPACES=${mode} needs HARNESS_FILES_DIR: set it to a folder that all gateways and workers share.`,
    );
  return {
    mode,
    filesDir,
    fileLimits: {
      bytes: config.HARNESS_THREAD_FILES_MB * mib,
      files: config.HARNESS_THREAD_FILES,
      tenantBytes: config.HARNESS_TENANT_FILES_MB * mib,
    },
  };
}
