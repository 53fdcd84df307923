/**
 * Garbage collection by mark and sweep, and the check of what is stored.
 *
 * A blob that no live version refers to, and that was not stored again for the grace time, is moved to the trash; the next
 * collection deletes it there, or takes it back if a version refers to it again. So a blob that comes into use while it is
 * collected is never lost: it can still be read, and is moved back.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@harness/contracts';
import type { Blobs } from './blobs.ts';
import { createPause, eachOf } from './durable.ts';
import { digestsIn } from './manifest.ts';
import type { TenantFolder } from './tenant-folder.ts';
import type { Usage } from './usage.ts';

/** What a collection did. */
export interface Collected {
  /** Blobs that are kept, and their bytes. */
  kept: number;
  keptBytes: number;
  /** Blobs moved to the trash, and deleted from it. */
  discarded: number;
  deleted: number;
  /** Live versions whose manifest is missing or damaged: nothing was discarded then. */
  lost: string[];
}

/** What a check found. */
export interface Verified {
  blobs: number;
  bytes: number;
  /** Digests of blobs with other bytes. */
  damaged: string[];
  /** Digests that a live version refers to and that are not stored. */
  missing: string[];
}

/** What a collection and a check need. */
export interface CollectDeps {
  folder: TenantFolder;
  blobs: Blobs;
  usage: Usage;
}

/** Versions that something refers to. */
export type Live = AsyncIterable<string> | Iterable<string>;

/** Collects the garbage of a tenant. `graceMs`: how long a blob is kept without a reference. */
export async function collect(
  live: Live,
  { graceMs }: { graceMs: number },
  deps: CollectDeps,
): Promise<Collected> {
  const { folder, usage } = deps;
  const before = Date.now() - graceMs;
  const { used, lost } = await mark(live, deps);
  const found: Collected = { kept: 0, keptBytes: 0, discarded: 0, deleted: 0, lost };
  const keep = (size: number) => {
    found.kept++;
    found.keptBytes += size;
  };
  await eachOf(await namesIn(join(folder.path, 'trash')), async (sha256) => {
    const at = folder.trash(sha256);
    const there = await statOf(at);
    if (!there) return;
    if (used.has(sha256) || there.mtimeMs >= before) {
      await mkdir(folder.fan(sha256), { recursive: true, mode: 0o700 });
      await rename(at, folder.blob(sha256));
    } else {
      await rm(at, { force: true });
      found.deleted++;
    }
  });
  for (const fan of await namesIn(folder.blobs)) {
    await eachOf(await namesIn(join(folder.blobs, fan)), async (sha256) => {
      const at = folder.blob(sha256);
      const there = await statOf(at);
      if (!there) return;
      if (lost.length > 0 || used.has(sha256) || there.mtimeMs >= before) return keep(there.size);
      await rename(at, folder.trash(sha256));
      found.discarded++;
    });
  }
  await eachOf(await namesIn(folder.tmp), async (name) => {
    const there = await statOf(join(folder.tmp, name));
    if (there && there.mtimeMs < before) await rm(join(folder.tmp, name), { force: true });
  });
  if (found.kept > 0 || (await statOf(folder.usage))) await usage.set(found.keptBytes);
  return found;
}

/** Digests of all blobs that live versions refer to, manifests included. */
async function mark(live: Live, { blobs }: CollectDeps): Promise<{ used: Set<string>; lost: string[] }> {
  const used = new Set<string>();
  const lost: string[] = [];
  const seen = new Set<string>();
  const pause = createPause();
  for await (const version of live) {
    if (seen.has(version)) continue;
    seen.add(version);
    const text = await blobs.read(version).catch((error) => {
      if (error instanceof AppError && error.code === 'file_damaged') return undefined;
      throw error;
    });
    if (!text) {
      lost.push(version);
      continue;
    }
    used.add(version);
    for (const [, sha256 = ''] of digestsIn(text.toString('utf8'))) used.add(sha256);
    await pause();
  }
  return { used, lost };
}

/** Reads every blob, and looks for what live versions need. */
export async function verify(live: Live, deps: CollectDeps): Promise<Verified> {
  const { folder, blobs } = deps;
  const found: Verified = { blobs: 0, bytes: 0, damaged: [], missing: [] };
  const stored = new Set<string>();
  const places = [
    ...(await namesIn(folder.blobs)).map((fan) => join(folder.blobs, fan)),
    join(folder.path, 'trash'),
  ];
  for (const place of places) {
    await eachOf(
      await namesIn(place),
      async (sha256) => {
        stored.add(sha256);
        found.blobs++;
        found.bytes += (await statOf(join(place, sha256)))?.size ?? 0;
        if (!(await isWhole(blobs, sha256))) found.damaged.push(sha256);
      },
      4,
    );
  }
  const { used, lost } = await mark(live, deps);
  found.missing = [...new Set([...lost, ...used])].filter((sha256) => !stored.has(sha256)).sort();
  found.damaged.sort();
  return found;
}

async function isWhole(blobs: Blobs, sha256: string): Promise<boolean> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of await blobs.stream(sha256)) hash.update(chunk);
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
  return hash.digest('hex') === sha256;
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function statOf(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
