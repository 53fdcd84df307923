/**
 * A store of files by content, in a folder that gateways and workers share. Below it each tenant has a folder of its own,
 * and nothing is shared between tenants. It does not use Redis: callers know which version is current, and which ones are
 * still referred to.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createManifestCache } from './store/manifest-cache.ts';
import { tenantsIn } from './store/tenant-folder.ts';
import { openTenant, type TenantFiles } from './tenant-files.ts';

/** The files of all tenants. */
export interface FileStore {
  of(tenant: string): TenantFiles;
  /** Tenants that have files. */
  tenants(): Promise<string[]>;
  /**
   * Whether the store belongs to the data of this id. The first caller's id is recorded: data that does not know of these
   * files must not have them collected.
   */
  belongsTo(installationId: string): Promise<boolean>;
}

/** Opens the store in a folder, which may be missing: it is made with the first file. */
export function openFileStore({ dir }: { dir: string }): FileStore {
  const open = new Map<string, TenantFiles>();
  const cache = createManifestCache();
  return {
    of(tenant) {
      const files = open.get(tenant) ?? openTenant({ dir, tenant, cache });
      open.set(tenant, files);
      return files;
    },
    tenants: () => tenantsIn(dir),
    async belongsTo(installationId) {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const path = join(dir, 'installation');
      await writeFile(path, installationId, { flag: 'wx' }).catch((error) => {
        if (error.code !== 'EEXIST') throw error;
      });
      return (await readFile(path, 'utf8')) === installationId;
    },
  };
}
