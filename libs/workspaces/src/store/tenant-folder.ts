/**
 * The folder of one tenant in the store.
 *
 * This folder:
 *   blobs.ts          files by their SHA-256
 *   manifest.ts       the manifest of a version
 *   manifest-cache.ts the latest manifests, in memory
 *   edit.ts           changes of a version that no folder holds
 *   paths.ts          paths within a workspace
 *   limits.ts         limits of a thread's files
 *   usage.ts          how many bytes a tenant's blobs have
 *   collect.ts        garbage collection and the check of the store
 *   durable.ts        makes files durable; errors of a full disk
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Paths in a tenant's folder:
 *
 *   tenant            its name
 *   blobs/<xx>/<sha>  files and manifests, by SHA-256; never changed; their mtime says when they were last stored
 *   tmp/              files that are being written
 *   trash/<sha>       blobs that nothing referred to at the last collection; still readable until the next one
 *   usage             what was added since the last collection, and the total before (usage.ts)
 */
export interface TenantFolder {
  path: string;
  /** The folder of all blobs. */
  blobs: string;
  blob(sha256: string): string;
  /** The folder of a blob, made with the first blob in it. */
  fan(sha256: string): string;
  trash(sha256: string): string;
  tmp: string;
  usage: string;
  /** Makes the other folders, where they are missing. */
  make(): Promise<void>;
}

/** A name that no file system changes or refuses; different tenants never share one. */
const encoded = (tenant: string): string =>
  /^[a-z0-9][a-z0-9_-]{0,63}$/.test(tenant)
    ? `t-${tenant}`
    : `h-${createHash('sha256').update(tenant).digest('hex')}`;

/** The folder of a tenant below `dir`. */
export function tenantFolder(dir: string, tenant: string): TenantFolder {
  const path = join(dir, encoded(tenant));
  const blobs = join(path, 'blobs');
  const fan = (sha256: string) => join(blobs, sha256.slice(0, 2));
  const tmp = join(path, 'tmp');
  return {
    path,
    blobs,
    fan,
    blob: (sha256) => join(fan(sha256), sha256),
    trash: (sha256) => join(path, 'trash', sha256),
    tmp,
    usage: join(path, 'usage'),
    async make() {
      await mkdir(tmp, { recursive: true, mode: 0o700 });
      await mkdir(join(path, 'trash'), { recursive: true, mode: 0o700 });
      await mkdir(blobs, { recursive: true, mode: 0o700 });
      await writeFile(join(path, 'tenant'), tenant, { flag: 'wx' }).catch((error) => {
        if (error.code !== 'EEXIST') throw error;
      });
    },
  };
}

/** The tenants that have a folder below `dir`. */
export async function tenantsIn(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch((error) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const read = (name: string) =>
    readFile(join(dir, name, 'tenant'), 'utf8').catch((error) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
      throw error;
    });
  const tenants = await Promise.all(names.map(read));
  return tenants.filter((tenant) => tenant !== undefined);
}
