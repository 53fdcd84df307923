/**
 * Files of threads, stored by content: snapshot, restore, versions, garbage collection. README.md describes the design.
 *
 *   file-store.ts    openFileStore: everything below, by tenant
 *   tenant-files.ts  the files of one tenant: every operation
 *   skill-store.ts   the store of the files of skills
 *   store/           blobs, manifests, edits, usage, garbage collection
 *   folder/          a workspace on disk: reading it into the store, writing a version into it
 *   exchange/        unified diffs and tar archives
 */
export type { DiffLimits, FilesDiff } from './exchange/diff.ts';
export { readTar, type TarLimits } from './exchange/tar.ts';
export { type FileStore, openFileStore } from './file-store.ts';
export type { Owner } from './folder/restore.ts';
export type { Skipped } from './folder/scan.ts';
export type { Snapshot } from './folder/snapshot.ts';
export { openSkillStore } from './skill-store.ts';
export type { Collected, Live, Verified } from './store/collect.ts';
export type { Edit, Edits } from './store/edit.ts';
export type { FolderLimits } from './store/limits.ts';
export type { Changes, Entry, FileEntry, FolderEntry, LinkEntry, Manifest } from './store/manifest.ts';
export { checkPath, pathProblem } from './store/paths.ts';
export {
  type Edited,
  type FileLimits,
  fileChangesOf,
  type OpenFile,
  type TenantFiles,
} from './tenant-files.ts';
