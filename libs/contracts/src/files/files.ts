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
  skipped: z
    .array(z.object({ path: z.string(), why: z.string() }))
    .optional()
    .describe('What lies in the workspace and the version does not hold, at most 100; absent: nothing'),
});
/** A new version of a thread's files. */
export type FileChanges = z.infer<typeof FileChanges>;

/** Path of a file of a thread: relative, `/` between its parts. */
export const FilePath = z.string().min(1).max(1024).describe('Relative, with "/" between its parts');

/** Most files that a message brings. */
export const maxMessageFiles = 50;
/** Largest file that a message brings, as base64, characters. The body of the request is limited as well. */
const maxBase64Chars = 8 * 1024 * 1024;

/** A file that a message brings. */
export const MessageFile = z.strictObject({
  path: FilePath,
  contentBase64: z
    .string()
    .max(maxBase64Chars)
    .regex(/^[A-Za-z0-9+/]*={0,2}$/),
});
/** A file that a message brings. */
export type MessageFile = z.infer<typeof MessageFile>;

/** A file, folder or symbolic link of a thread. */
export const ListedFile = z.object({
  path: FilePath,
  kind: z.enum(['file', 'dir', 'symlink']),
  mode: z.int().optional().describe('Permission bits; of files and folders'),
  size: z.int().optional().describe('Bytes; of files'),
  sha256: z.string().optional().describe('Of files; it is also the ETag'),
  target: z.string().optional().describe('Of symbolic links'),
});
/** A file, folder or symbolic link of a thread. */
export type ListedFile = z.infer<typeof ListedFile>;
