/** Versions of a thread's files, as runs, tasks and events name them. */
import { z } from 'zod';

/** Digest of a version of a thread's files: SHA-256 of its manifest. */
export const FilesVersion = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('SHA-256 (hex) of the manifest of a version of the files');

/** Most paths that a change lists. */
export const maxChangedPaths = 100;

/** A new version of a thread's files. */
export const FileChanges = z.object({
  version: FilesVersion.describe('The version after the change'),
  changed: z.array(z.string()).describe(`Paths that differ from before, at most ${maxChangedPaths}`),
  more: z.int().describe('How many more paths differ'),
});
/** A new version of a thread's files. */
export type FileChanges = z.infer<typeof FileChanges>;
