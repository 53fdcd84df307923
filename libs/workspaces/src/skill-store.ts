import { join } from 'node:path';
import { openFileStore } from './file-store.ts';
import type { TenantFiles } from './tenant-files.ts';

/** Beside the folders of tenants, and none of them: no collection of a tenant's files comes here. */
const folder = 'skills';

/** The store of the files of skills, which all tenants share, in the folder of the files of all threads. */
export const openSkillStore = (filesDir: string): TenantFiles =>
  openFileStore({ dir: join(filesDir, folder) }).of('all');
