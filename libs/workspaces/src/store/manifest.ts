/**
 * The manifest of a version: every file, folder and symbolic link, in one canonical JSON text. The version is the SHA-256
 * of that text, and the text is itself a blob.
 *
 * A manifest that was read is untrusted, since a blob may hold anything: `parseManifest` accepts only what `manifestText`
 * writes. M1: paths stay within the folder. M2: the parent of each entry is a folder of the manifest, never a symbolic link.
 */
import { AppError } from '@harness/contracts';
import { parentOf, pathProblem } from './paths.ts';

/** A file. `mode`: permission bits only. `size`: bytes. */
export interface FileEntry {
  path: string;
  kind: 'file';
  mode: number;
  size: number;
  sha256: string;
}
/** A symbolic link; `target` is only text. */
export interface LinkEntry {
  path: string;
  kind: 'symlink';
  target: string;
}
/** A folder. */
export interface FolderEntry {
  path: string;
  kind: 'dir';
  mode: number;
}
/** What a version holds at a path. */
export type Entry = FileEntry | LinkEntry | FolderEntry;

/** A version, by path. */
export interface Manifest {
  entries: ReadonlyMap<string, Entry>;
  /** Number of files and symbolic links. */
  files: number;
  /** Sum of the sizes of its files. */
  bytes: number;
}

/** Longest target of a symbolic link, characters. */
export const maxTargetChars = 4096;
/** Set-user-id, set-group-id and sticky bits are not kept. */
export const permissionBits = 0o777;

const order = ({ path: one }: Entry, { path: other }: Entry) => (one < other ? -1 : one > other ? 1 : 0);

/** A manifest of these entries. */
export function manifestOf(entries: Iterable<Entry>): Manifest {
  const sorted = [...entries].sort(order);
  let files = 0;
  let bytes = 0;
  for (const entry of sorted) {
    if (entry.kind !== 'dir') files++;
    if (entry.kind === 'file') bytes += entry.size;
  }
  return { entries: new Map(sorted.map((entry) => [entry.path, entry])), files, bytes };
}

/** The canonical text: entries by path, one to a line, fields in a fixed order. */
export function manifestText({ entries }: Manifest): string {
  const lines = [...entries.values()].map((entry) => JSON.stringify(canonical(entry)));
  return `{"format":1,"entries":[\n${lines.join(',\n')}\n]}\n`;
}

function canonical(entry: Entry): Entry {
  const { path } = entry;
  if (entry.kind === 'file') {
    const { mode, size, sha256 } = entry;
    return { path, kind: 'file', mode, size, sha256 };
  }
  if (entry.kind === 'dir') return { path, kind: 'dir', mode: entry.mode };
  return { path, kind: 'symlink', target: entry.target };
}

/** The digests of the files in a manifest's text, without reading it as JSON: for marking what is used. */
export const digestsIn = (text: string): IterableIterator<RegExpExecArray> =>
  text.matchAll(/,"sha256":"([0-9a-f]{64})"\}(?:,\n|\n\]\}\n$)/g);

/** Reads a manifest. Throws `file_damaged` for a text that is not one. */
export function parseManifest(text: string): Manifest {
  const refuse = (why: string) => new AppError('file_damaged', `This is not a version of files: ${why}.`);
  let parsed: { entries?: unknown } | null;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw refuse('its manifest is not JSON');
  }
  if (!parsed || !Array.isArray(parsed.entries)) throw refuse('its manifest has no entries');
  let before = '';
  const folders = new Set(['']);
  for (const entry of parsed.entries) {
    if (!isEntry(entry)) throw refuse('its manifest has an entry of an unknown form');
    const { path, kind } = entry;
    if (pathProblem(path) !== undefined || path <= before) throw refuse('its manifest has a bad path');
    if (!folders.has(parentOf(path))) throw refuse('its manifest has an entry that is in no folder');
    if (kind === 'dir') folders.add(path);
    before = path;
  }
  const manifest = manifestOf(parsed.entries as Entry[]);
  if (manifestText(manifest) !== text) throw refuse('its manifest is not canonical');
  return manifest;
}

const isMode = (mode: unknown) => Number.isInteger(mode) && (Number(mode) & ~permissionBits) === 0;

function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false;
  const { path, kind, mode, size, sha256, target } = value as Record<string, unknown>;
  if (typeof path !== 'string') return false;
  if (kind === 'dir') return isMode(mode);
  if (kind === 'symlink')
    return typeof target === 'string' && target.length > 0 && target.length <= maxTargetChars;
  const isSize = Number.isSafeInteger(size) && Number(size) >= 0;
  return kind === 'file' && isMode(mode) && isSize && /^[0-9a-f]{64}$/.test(String(sha256));
}

/** Paths of files and symbolic links that differ between two versions; folders only where nothing else shows them. */
export interface Changes {
  added: string[];
  changed: string[];
  removed: string[];
}

/** Whether an entry is the same in both versions. */
export function isSame(one: Entry, other: Entry): boolean {
  if (one.kind === 'symlink') return other.kind === 'symlink' && one.target === other.target;
  if (one.kind !== other.kind || one.mode !== other.mode) return false;
  return one.kind === 'dir' || (other.kind === 'file' && one.sha256 === other.sha256);
}

/** What differs from one version to the next, in the order of paths. */
export function changesOf(from: Manifest | undefined, to: Manifest): Changes {
  const changes: Changes = { added: [], changed: [], removed: [] };
  for (const [path, entry] of to.entries) {
    const before = from?.entries.get(path);
    if (!before) changes.added.push(path);
    else if (before !== entry && !isSame(before, entry)) changes.changed.push(path);
  }
  for (const path of from?.entries.keys() ?? []) if (!to.entries.has(path)) changes.removed.push(path);
  return changes;
}
