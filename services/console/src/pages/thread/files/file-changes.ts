/** The changes of a thread's files, from its events: which run or caller changed what. */
import { numberOf } from '../../../lib/format.ts';
import type { ThreadEvent } from '../event-kinds.ts';

/** A change of a thread's files, by a run or by a caller. */
export interface FileChange {
  /** Id of its run; of a caller's change, id of its event. */
  key: string;
  /** Absent: a caller made it. */
  runId?: string;
  /** ISO 8601. */
  at: string;
  /** The version after it. */
  version: string;
  /** The version before it. Absent: there was none, or its event is not kept any more. */
  before?: string;
  /** Paths, without the folders of others among them; and the number of those that the event leaves out. */
  changed: readonly string[];
  more: number;
  /** What lies in the workspace and no version can hold. */
  skipped?: readonly { path: string; why: string }[];
}

/** Adds the change of a `files.changed` event to those before it. What a run changes in several steps is one change. */
export function addChange(changes: FileChange[], { id, data }: ThreadEvent): FileChange {
  const { runId, at, version, changed, more, skipped } = data as unknown as FileChange;
  const last = changes.at(-1);
  if (runId !== undefined && last?.runId === runId) {
    const paths = new Set([...last.changed, ...changed]);
    const merged = {
      ...last,
      at,
      version,
      changed: innermost([...paths]),
      more: Math.max(last.more, more),
      ...(skipped && { skipped }),
    };
    changes[changes.length - 1] = merged;
    return merged;
  }
  const change: FileChange = {
    key: runId ?? String(id),
    ...(runId !== undefined && { runId }),
    at,
    version,
    ...(last && { before: last.version }),
    changed: innermost(changed),
    more,
    ...(skipped && { skipped }),
  };
  changes.push(change);
  return change;
}

/** Leaves out new folders: the files in them show that they are new. */
function innermost(paths: readonly string[]): string[] {
  const folders = new Set(
    paths.flatMap((path) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index))),
  );
  return paths.filter((path) => !folders.has(path));
}

/** `3 files changed`. */
export function countOf({ changed, more }: FileChange): string {
  const count = changed.length + more;
  return count === 1 ? '1 file changed' : `${numberOf(count)} files changed`;
}

/** `3 files changed: a, b, c; not kept: d (why)`. */
export function summaryOf(change: FileChange): string {
  const { changed, more, skipped = [] } = change;
  const rest = more > 0 ? ` and ${numberOf(more)} more` : '';
  return [
    ...(changed.length > 0 ? [`${countOf(change)}: ${changed.join(', ')}${rest}`] : []),
    ...(skipped.length > 0
      ? [`not kept: ${skipped.map(({ path, why }) => `${path} (${why})`).join(', ')}`]
      : []),
  ].join('; ');
}
