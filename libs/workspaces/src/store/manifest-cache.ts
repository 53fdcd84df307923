import type { Manifest } from './manifest.ts';

/** Manifests that are kept in memory, by their number of entries together. */
const cachedEntries = 100_000;

/** The latest manifests, by tenant and version: versions never change. */
export type ManifestCache = ReturnType<typeof createManifestCache>;

/** An empty cache. */
export function createManifestCache() {
  const cached = new Map<string, Manifest>();
  let entries = 0;
  return {
    get(key: string): Manifest | undefined {
      const found = cached.get(key);
      if (found) {
        cached.delete(key);
        cached.set(key, found);
      }
      return found;
    },
    set(key: string, manifest: Manifest): void {
      if (cached.has(key)) return;
      cached.set(key, manifest);
      entries += manifest.entries.size + 1;
      for (const [oldest, { entries: held }] of cached) {
        if (entries <= cachedEntries || oldest === key) break;
        cached.delete(oldest);
        entries -= held.size + 1;
      }
    },
  };
}
