import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Copies a dump of this folder to where a Redis with an append-only file, started in `redisDir`, reads it. */
export async function useDump(redisDir: string, name: string): Promise<void> {
  const folder = join(redisDir, 'appendonlydir');
  const base = 'appendonly.aof.1.base.rdb';
  await mkdir(folder, { recursive: true });
  await copyFile(fileURLToPath(new URL(name, import.meta.url)), join(folder, base));
  await writeFile(join(folder, 'appendonly.aof.manifest'), `file ${base} seq 1 type b\n`);
}
