import { createHash } from 'node:crypto';
import type { Written } from './follow-folder.ts';

/** A digest (hex) of a folder's content. It does not depend on the folder's path. */
export function folderDigestOf(items: readonly Written[]): string {
  const byName = items.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const text = JSON.stringify(byName, (key, value) =>
    key === 'place' || key === 'folder' ? undefined : value,
  );
  return createHash('sha256').update(text).digest('hex');
}
