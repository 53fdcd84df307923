import { join } from 'node:path';
import { openFileStore } from './file-store.ts';
import type { TenantFiles } from './tenant-files.ts';

/** Its name cannot be that of a tenant's folder, so the garbage collection of tenants does not visit it. */
const folder = 'skills';

/** The store of the files of skills, which all tenants share, in the folder of the files of all threads. */
export const openSkillStore = (filesDir: string): TenantFiles =>
  openFileStore({ dir: join(filesDir, folder) }).of('all');
