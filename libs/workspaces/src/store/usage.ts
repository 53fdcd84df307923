import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import type { TenantFolder } from './tenant-folder.ts';

/**
 * How many bytes the blobs of a tenant have. Processes that share the store append what they add, a line each; a collection
 * replaces the file by the exact total. What is appended at that very moment may be lost until the next collection.
 */
export interface Usage {
  bytes(): Promise<number>;
  add(bytes: number): Promise<void>;
  set(bytes: number): Promise<void>;
}

/** Creates the usage of a tenant's folder. */
export function createUsage(folder: TenantFolder): Usage {
  return {
    async bytes() {
      const text = await readFile(folder.usage, 'utf8').catch((error) => {
        if (error.code === 'ENOENT') return '';
        throw error;
      });
      // A line that a crash cut off is not a number.
      return text.split('\n').reduce((sum, line) => sum + (Number(line) || 0), 0);
    },
    async add(bytes) {
      await appendFile(folder.usage, `${bytes}\n`);
    },
    async set(bytes) {
      const next = `${folder.usage}.${process.pid}`;
      await writeFile(next, `${bytes}\n`);
      await rename(next, folder.usage);
    },
  };
}
