import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const folder = join(import.meta.dirname, 'dist');

/** Writes `.br` and `.gz` beside each text file, which the gateway sends to browsers that take them. */
const compressed: Plugin = {
  name: 'compressed',
  apply: 'build',
  async writeBundle() {
    const files = await readdir(folder, { recursive: true });
    for (const file of files.filter((name) => /\.(js|css|html|svg)$/.test(name))) {
      const path = join(folder, file);
      const content = await readFile(path);
      await Promise.all([
        writeFile(`${path}.br`, brotliCompressSync(content)),
        writeFile(`${path}.gz`, gzipSync(content, { level: 9 })),
      ]);
    }
  },
};

/** Builds the console into `dist`: files whose names have a hash of their content, without inline scripts or styles. */
export default defineConfig({
  base: '/console/',
  oxc: { jsx: { runtime: 'automatic' } },
  plugins: [compressed],
  build: {
    target: 'es2022',
    sourcemap: false,
    // An inlined file would be a data: URL, which the gateway's policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    // Libraries mark their files for React's server components, which the console does not use.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/readyz': 'http://127.0.0.1:8080' } },
});
