import { defineConfig } from 'vite';

/** Builds the console into `dist`: files whose names have a hash of their content, without inline scripts or styles. */
export default defineConfig({
  base: '/console/',
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    target: 'es2022',
    sourcemap: false,
    // An inlined file would be a data: URL, which the gateway's policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/readyz': 'http://127.0.0.1:8080' } },
});
