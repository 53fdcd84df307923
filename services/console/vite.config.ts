import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip as gzipCompress } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const [brotli, gzip] = [promisify(brotliCompress), promisify(gzipCompress)];
const folder = join(import.meta.dirname, 'dist');

/** Writes `.br` and `.gz` beside each text file, which the gateway sends to browsers that take them. */
const compressed: Plugin = {
  name: 'compressed',
  apply: 'build',
  async writeBundle() {
    const files = await readdir(folder, { recursive: true });
    const texts = files.filter((name) => /\.(js|css|html|svg)$/.test(name));
    await Promise.all(
      texts.map(async (file) => {
        const path = join(folder, file);
        const content = await readFile(path);
        await writeFile(`${path}.br`, await brotli(content));
        await writeFile(`${path}.gz`, await gzip(content));
      }),
    );
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
    // Libraries mark their files for the server components of React, which the console does not use; compressing takes its time.
    rolldownOptions: { checks: { moduleLevelDirective: false, bundlerTimings: false } },
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/readyz': 'http://127.0.0.1:8080' } },
});
