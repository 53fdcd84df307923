import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
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

/** The settings; undefined = off. Makes the folder. Throws ConfigError where none is set, or it cannot be written. */
export function workspacesOf(
  config: z.output<z.ZodObject<typeof envWorkspaces>>,
): WorkspaceSettings | undefined {
  const { HARNESS_WORKSPACES: mode, HARNESS_FILES_DIR: filesDir } = config;
  if (mode === 'off') return undefined;
  if (filesDir === undefined)
    throw new ConfigError(
      `HARNESS_WORKSPACES=${mode} needs HARNESS_FILES_DIR: set it to a folder that all gateways and workers share.`,
    );
  requireWritable(filesDir);
  return {
    mode,
    filesDir: resolve(filesDir),
    fileLimits: {
      bytes: config.HARNESS_THREAD_FILES_MB * mib,
      files: config.HARNESS_THREAD_FILES,
      tenantBytes: config.HARNESS_TENANT_FILES_MB * mib,
    },
  };
}

/** Each write would fail later, some after the model has answered. */
function requireWritable(filesDir: string): void {
  const probe = join(filesDir, `.probe-${randomUUID()}`);
  try {
    mkdirSync(filesDir, { recursive: true, mode: 0o700 });
    writeFileSync(probe, '');
    rmSync(probe);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ConfigError(`HARNESS_FILES_DIR: files cannot be written in ${filesDir} (${code}).`, { cause });
  }
}
