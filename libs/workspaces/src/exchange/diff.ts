/** What differs between two versions, as unified text. */
import { formatPatch, structuredPatch } from 'diff';
import type { Blobs } from '../store/blobs.ts';
import { changesOf, type Entry, type Manifest } from '../store/manifest.ts';

/** The difference of two versions. */
export interface FilesDiff {
  /** Unified diff of text files; a line for each file that is not text, too large, or a symbolic link. */
  text: string;
  /** Number of paths that `text` leaves out, since it would be too long, or take too long. */
  omitted: number;
}

/** Bounds of a diff. */
export interface DiffLimits {
  /** Longest text, characters. */
  textChars: number;
  /** Largest file that is compared by lines, bytes. */
  fileBytes: number;
  /** Longest comparison of one file, ms. */
  fileMs: number;
  /** From then on no further file is compared, ms. */
  totalMs: number;
}

/** The bounds where a caller gives none. */
export const defaultDiffLimits: DiffLimits = {
  textChars: 500_000,
  fileBytes: 1_000_000,
  fileMs: 1_000,
  totalMs: 5_000,
};

/** Compares two versions; `from` undefined: everything is new. */
export async function diffOf(
  blobs: Blobs,
  { from, to }: { from: Manifest | undefined; to: Manifest },
  limits: DiffLimits = defaultDiffLimits,
): Promise<FilesDiff> {
  const { added, changed, removed } = changesOf(from, to);
  const paths = [...added, ...changed, ...removed].sort();
  const parts: string[] = [];
  let length = 0;
  const endsAt = performance.now() + limits.totalMs;
  for (const [index, path] of paths.entries()) {
    const rest = paths.length - index;
    if (performance.now() > endsAt) return { text: parts.join(''), omitted: rest };
    const before = from?.entries.get(path);
    const after = to.entries.get(path);
    const part = await diffOfEntry(blobs, { path, before, after }, limits);
    if (length + part.length > limits.textChars) return { text: parts.join(''), omitted: rest };
    parts.push(part);
    length += part.length;
  }
  return { text: parts.join(''), omitted: 0 };
}

interface Pair {
  path: string;
  before: Entry | undefined;
  after: Entry | undefined;
}

/** A name on one line, whatever it contains. */
const shown = (path: string) => (/[\p{Cc}"\\]/u.test(path) ? JSON.stringify(path) : path);

async function diffOfEntry(blobs: Blobs, { path, before, after }: Pair, limits: DiffLimits): Promise<string> {
  if ((before ?? after)?.kind === 'dir' && (after ?? before)?.kind === 'dir') {
    const verb = before ? (after ? 'has another mode' : 'is removed') : 'is new';
    return `The folder ${shown(path)} ${verb}\n`;
  }
  const [old, next] = await Promise.all([textOf(blobs, before, limits), textOf(blobs, after, limits)]);
  const from = before ? shown(`a/${path}`) : '/dev/null';
  const to = after ? shown(`b/${path}`) : '/dev/null';
  const mode = modeLine(before, after);
  if (old === undefined || next === undefined) {
    const isLarge = sizeOf(before) > limits.fileBytes || sizeOf(after) > limits.fileBytes;
    const what = isLarge ? 'Large files' : 'Binary files';
    return `${mode}${what} ${from} and ${to} differ (${sizeOf(before)} -> ${sizeOf(after)} bytes)\n`;
  }
  if (old === next) return mode || `${from} and ${to} differ in kind\n`;
  // `diff` itself quotes the names of a patch.
  const names = { from: before ? `a/${path}` : '/dev/null', to: after ? `b/${path}` : '/dev/null' };
  const patch = await patchOf(names, [old, next], limits.fileMs);
  if (!patch) return `${mode}Files ${from} and ${to} differ; comparing them took too long\n`;
  return `${mode}${patch}`;
}

const sizeOf = (entry: Entry | undefined) => (entry?.kind === 'file' ? entry.size : 0);

function modeLine(before: Entry | undefined, after: Entry | undefined): string {
  if (before?.kind !== 'file' || after?.kind !== 'file' || before.mode === after.mode) return '';
  return `mode ${before.mode.toString(8)} -> ${after.mode.toString(8)} ${shown(after.path)}\n`;
}

/** The text of a file, '' for none, `-> target` of a symbolic link; undefined: not text, or too large. */
async function textOf(
  blobs: Blobs,
  entry: Entry | undefined,
  { fileBytes }: DiffLimits,
): Promise<string | undefined> {
  if (!entry || entry.kind === 'dir') return '';
  if (entry.kind === 'symlink') return `-> ${entry.target}\n`;
  if (entry.size > fileBytes) return undefined;
  const bytes = await blobs.read(entry.sha256);
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns undefined when it takes too long. Does not block other work of the process. */
async function patchOf(
  { from, to }: { from: string; to: string },
  [old, next]: [string, string],
  timeout: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    structuredPatch(from, to, old, next, undefined, undefined, {
      context: 3,
      timeout,
      callback: (patch) => resolve(patch && withoutIndex(formatPatch(patch))),
    });
  });
}

/** Without the line of equal signs that `diff` puts first. */
const withoutIndex = (text: string) => text.replace(/^(Index: .*\n)?=+\n/, '');
