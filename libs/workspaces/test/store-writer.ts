/**
 * Edits a store without end, as a process of its own: `node store-writer.ts <store folder> <seed>`. Prints each version when
 * it is durable.
 */
import { openFileStore } from '../src/index.ts';

const [dir = '', seed = ''] = process.argv.slice(2);
const files = openFileStore({ dir }).of('default');
const limits = { bytes: 1e9, files: 1e5 };
let version: string | undefined;
for (let n = 0; ; n++) {
  // Half of the files are the same in every process.
  const edits = Array.from({ length: 20 }, (_, i) => ({
    path: `f${(n + i) % 50}`,
    put: Buffer.from(`${i % 2 ? 'common' : seed} ${n} ${i} `.repeat(100)),
  }));
  version = (await files.edit(version, edits, limits)).version;
  process.stdout.write(`${version}\n`);
}
