/**
 * Folders by open descriptors. What lies in a workspace is untrusted, and an agent's process may change it at any moment: a
 * path that was checked may name something else when it is used. On Linux every step therefore starts at a descriptor
 * (`/proc/self/fd/<n>/<name>`) and follows no symbolic link, so it cannot leave the workspace. Elsewhere plain paths are
 * used: safe only while nothing else writes there.
 */
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';

const hasDescriptorPaths = existsSync('/proc/self/fd');
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** A folder that is open. */
export interface AnchoredFolder {
  fd: number;
  /** The path of an entry; its last part is not followed if it is a symbolic link and the caller does not. */
  pathOf(name: string): string;
  /** Names in it; undefined for one that is not valid UTF-8. */
  names(): (string | undefined)[];
  close(): void;
}

/** Opens a folder by its path. Throws if it is not one, or a symbolic link. */
export const openAnchored = (path: string): AnchoredFolder => anchored(path, path);

/** Opens a folder within another one. Throws ENOTDIR or ELOOP if it is something else. */
export const openWithin = (parent: AnchoredFolder, name: string): AnchoredFolder =>
  anchored(parent.pathOf(name), parent.pathOf(name));

function anchored(toOpen: string, plain: string): AnchoredFolder {
  const fd = openSync(toOpen, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const base = hasDescriptorPaths ? `/proc/self/fd/${fd}` : plain;
  return {
    fd,
    // Not `join`: it would make `<base>/.` the descriptor's own link, which is not followed.
    pathOf: (name) => `${base}/${name}`,
    names: () => readdirSync(`${base}/`, { encoding: 'buffer' }).map(textOf),
    close: () => closeSync(fd),
  };
}

/** Opens the folder at a path within `root`, part by part; `''` = the root itself, again. The caller closes it. */
export function openBelow(root: AnchoredFolder, path: string): AnchoredFolder {
  let at = openWithin(root, '.');
  for (const part of path === '' ? [] : path.split('/')) {
    const above = at;
    try {
      at = openWithin(above, part);
    } finally {
      above.close();
    }
  }
  return at;
}

/** Opens a file for reading, without waiting for a fifo. Throws ELOOP for a symbolic link. */
export const openFile = (folder: AnchoredFolder, name: string): number =>
  openSync(folder.pathOf(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);

/** Removes an entry, and all that is in it. Missing ones are fine. */
export function removeTree(folder: AnchoredFolder, name: string): void {
  const path = folder.pathOf(name);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isDirectory()) {
    unlinkSync(path);
    return;
  }
  const inner = openWithin(folder, name);
  try {
    for (const raw of readdirSync(inner.pathOf('.'), { encoding: 'buffer' })) {
      const child = textOf(raw);
      if (child === undefined) removeUnnamed(inner, raw);
      else removeTree(inner, child);
    }
  } finally {
    inner.close();
  }
  rmdirSync(path);
}

/** Removes an entry whose name is not valid UTF-8; a folder of that kind must be empty. */
function removeUnnamed(folder: AnchoredFolder, raw: Buffer): void {
  const path = Buffer.concat([Buffer.from(`${folder.pathOf('.')}/`), raw]);
  if (lstatSync(path).isDirectory()) rmdirSync(path);
  else unlinkSync(path);
}

function textOf(raw: Buffer): string | undefined {
  const text = raw.toString('utf8');
  return Buffer.from(text, 'utf8').equals(raw) ? text : undefined;
}
