import type { Readable } from 'node:stream';
import { AppError, type FileChanges, maxChangedPaths } from '@harness/contracts';
import { type DiffLimits, diffOf, type FilesDiff } from './exchange/diff.ts';
import { tarOf } from './exchange/tar.ts';
import { changeFolder, type Owner } from './folder/restore.ts';
import { readFolder, type Snapshot } from './folder/snapshot.ts';
import { type Batch, createBlobs, damaged } from './store/blobs.ts';
import { type Collected, collect, type Live, type Verified, verify } from './store/collect.ts';
import { type Edit, type Edits, editManifest, mergeManifests, stageEdits } from './store/edit.ts';
import type { FolderLimits } from './store/limits.ts';
import {
  type Changes,
  changesOf,
  type FileEntry,
  type Manifest,
  manifestOf,
  manifestText,
  parseManifest,
} from './store/manifest.ts';
import type { ManifestCache } from './store/manifest-cache.ts';
import { tenantFolder } from './store/tenant-folder.ts';
import { createUsage } from './store/usage.ts';

/** Limits of a thread's files and of a tenant's. */
export interface FileLimits extends FolderLimits {
  /** Bytes that the store holds for the tenant, of all threads and versions; undefined = no limit. */
  tenantBytes?: number | undefined;
}

/** A version that was made from another one. */
export interface Edited {
  version: string;
  files: number;
  bytes: number;
  changes: Changes;
}

/**
 * The files of one tenant. A version that a method returns is durable. Methods throw `file_damaged` for what is missing or
 * damaged in the store, and `storage_full` when the disk is full; the store stays consistent in either case.
 */
export interface TenantFiles {
  /**
   * Stores a folder as a version. `previous`: of the same folder, makes it quick and is what `changes` refer to. Throws
   * `limit_reached`.
   */
  snapshot(
    folder: string,
    options: { limits: FileLimits; previous?: Snapshot | undefined },
  ): Promise<Snapshot>;
  /** Writes a version into an empty folder that exists. If it throws, the folder holds parts: remove it. */
  restore(version: string, folder: string, owner?: Owner): Promise<Snapshot>;
  /**
   * Changes a folder that holds `from` so that it holds `to`: only what differs is written. If it throws, remove the folder and
   * restore it.
   */
  update(
    from: Snapshot,
    to: string,
    target: { folder: string; owner?: Owner | undefined },
  ): Promise<Snapshot>;
  /** What a version holds. */
  manifest(version: string): Promise<Manifest>;
  /** Makes a version from another one; undefined = from none. Throws `invalid_request`, `file_not_found`, `limit_reached`. */
  edit(version: string | undefined, edits: Edits, limits: FileLimits): Promise<Edited>;
  /**
   * Stores the content of edits that can be read only once: what it returns can be made more than once. Throws
   * `invalid_request`, `body_too_large`, `limit_reached`.
   */
  stage(edits: Edits, limits: FileLimits): Promise<Edit[]>;
  /** Makes the version that has all of `version` and of `added`, which wins. Throws `limit_reached`. */
  merge(version: string | undefined, added: string, limits: FileLimits): Promise<Edited>;
  /** The paths that differ between two versions; `from` undefined: everything is new. */
  changes(from: string | undefined, to: string): Promise<Changes>;
  /** A file of a version; `stream` reads it, or a part (`end` inclusive). Throws `file_not_found`. */
  open(version: string, path: string): Promise<OpenFile>;
  /** What differs between two versions; `from` undefined: everything is new. */
  diff(from: string | undefined, to: string, limits?: DiffLimits): Promise<FilesDiff>;
  /** A version as a tar archive, without its symbolic links; undefined = an empty one. */
  tar(version: string | undefined): Promise<Readable>;
  /** Bytes that the store holds for the tenant. */
  usage(): Promise<number>;
  /** Discards what no live version refers to. One process at a time should. */
  collect(live: Live, options: { graceMs: number }): Promise<Collected>;
  /** Reads everything and reports what is damaged, and what live versions lack. */
  verify(live: Live): Promise<Verified>;
}

/** A file of a version. */
export interface OpenFile {
  entry: FileEntry;
  stream(range?: { start: number; end: number }): Promise<Readable>;
}

/** What the files of a tenant are opened with. */
interface TenantDeps {
  dir: string;
  tenant: string;
  cache: ManifestCache;
}

/** Opens the files of a tenant in the store's folder. */
export function openTenant({ dir, tenant, cache }: TenantDeps): TenantFiles {
  const folder = tenantFolder(dir, tenant);
  const usage = createUsage(folder);
  const blobs = createBlobs(folder, usage);
  const deps = { folder, blobs, usage };
  const keyOf = (version: string) => `${tenant}\n${version}`;
  const manifest = async (version: string): Promise<Manifest> => {
    if (!/^[0-9a-f]{64}$/.test(version)) throw damaged(version);
    const known = cache.get(keyOf(version));
    if (known) return known;
    const read = parseManifest((await blobs.read(version)).toString('utf8'));
    cache.set(keyOf(version), read);
    return read;
  };
  /** Makes what is in the batch durable. */
  const commit = async (batch: Batch, { tenantBytes }: FileLimits): Promise<void> => {
    if (tenantBytes !== undefined && batch.addedBytes > 0) {
      if ((await usage.bytes()) + batch.addedBytes > tenantBytes) throw tenantFull(tenantBytes);
    }
    await batch.commit();
  };
  /** Stores a manifest and all that is in the batch. */
  const store = async (made: Manifest, batch: Batch, limits: FileLimits): Promise<string> => {
    const version = await batch.add(Buffer.from(manifestText(made)));
    await commit(batch, limits);
    cache.set(keyOf(version), made);
    return version;
  };
  const inBatch = async <T>(work: (batch: Batch) => Promise<T>): Promise<T> => {
    const batch = blobs.batch();
    try {
      return await work(batch);
    } finally {
      await batch.discard();
    }
  };
  const maybeManifest = async (version: string | undefined) =>
    version === undefined ? undefined : manifest(version);
  const edited = (version: string, base: Manifest | undefined, made: Manifest): Edited => ({
    version,
    files: made.files,
    bytes: made.bytes,
    changes: changesOf(base, made),
  });
  const held = async (version: string, made: Manifest, known: Snapshot['known']): Promise<Snapshot> => ({
    version,
    files: made.files,
    bytes: made.bytes,
    changes: { added: [], changed: [], removed: [] },
    skipped: [],
    manifest: made,
    known,
  });
  return {
    manifest,
    usage: usage.bytes,
    snapshot: (path, { limits, previous }) =>
      inBatch(async (batch) => {
        const read = await readFolder(path, { blobs, limits, previous, batch });
        const { added, changed, removed } = read.changes;
        const isSame = added.length + changed.length + removed.length === 0;
        if (previous && isSame && blobs.renew(previous.version)) {
          await batch.commit();
          return { ...read, version: previous.version };
        }
        return { ...read, version: await store(read.manifest, batch, limits) };
      }),
    async restore(version, path, owner) {
      const to = await manifest(version);
      return held(version, to, await changeFolder(path, { from: undefined, to }, { blobs, owner }));
    },
    async update(from, version, { folder: path, owner }) {
      const to = await manifest(version);
      const known = await changeFolder(path, { from: from.manifest, to }, { blobs, owner });
      const digests = new Map([...from.known.digests, ...known.digests]);
      return held(version, to, { digests, renewedAt: from.known.renewedAt });
    },
    edit: (version, edits, limits) =>
      inBatch(async (batch) => {
        const base = await maybeManifest(version);
        const made = await editManifest(base, edits, { blobs, batch, limits });
        return edited(await store(made, batch, limits), base, made);
      }),
    stage: (edits, limits) =>
      inBatch(async (batch) => {
        const staged = await stageEdits(edits, { batch, limits });
        await commit(batch, limits);
        return staged;
      }),
    merge: (version, added, limits) =>
      inBatch(async (batch) => {
        const base = await maybeManifest(version);
        const made = mergeManifests(base, await manifest(added), limits);
        return edited(await store(made, batch, limits), base, made);
      }),
    changes: async (from, to) => changesOf(await maybeManifest(from), await manifest(to)),
    async open(version, path) {
      const entry = (await manifest(version)).entries.get(path);
      if (entry?.kind !== 'file')
        throw new AppError(
          'file_not_found',
          `There is no file ${JSON.stringify(path)} in this version. List the files to see their paths.`,
        );
      return { entry, stream: (range) => blobs.stream(entry.sha256, range) };
    },
    async diff(from, to, limits) {
      return diffOf(blobs, { from: await maybeManifest(from), to: await manifest(to) }, limits);
    },
    tar: async (version) => tarOf(blobs, (await maybeManifest(version)) ?? manifestOf([])),
    collect: (live, options) => collect(live, options, deps),
    verify: (live) => verify(live, deps),
  };
}

const tenantFull = (allowed: number) =>
  new AppError(
    'limit_reached',
    `The files of this tenant may have ${allowed} bytes, all threads and versions together. Delete threads; what no thread refers to is removed later.`,
    { details: { limit: 'tenantBytes', of: 'tenant', allowed } },
  );

/** Changes as commits and events name them: at most `maxChangedPaths`, the rest is counted; and what the version lacks. */
export function fileChangesOf({
  version,
  changes,
  skipped = [],
}: Pick<Edited, 'version' | 'changes'> & Partial<Pick<Snapshot, 'skipped'>>): FileChanges {
  const paths = [...changes.added, ...changes.changed, ...changes.removed].sort();
  return {
    version,
    changed: paths.slice(0, maxChangedPaths),
    more: Math.max(0, paths.length - maxChangedPaths),
    ...(skipped.length > 0 && { skipped }),
  };
}
