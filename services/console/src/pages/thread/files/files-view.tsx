/**
 * The files of a thread, now or after a run, and what each run changed.
 *
 * This folder:
 *   use-files.ts    reads versions and files
 *   file-tree.ts    paths as a tree
 *   tree-view.tsx   shows the tree
 *   file-panel.tsx  one file or folder
 *   code-lines.tsx  numbered lines of a file or a diff
 *   diff-lines.ts   a unified diff as lines
 *   file-changes.ts which run or caller changed what
 *   change-list.tsx every change, and its diff
 *   upload.tsx      uploads files
 */
import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import { ApiError } from '../../../lib/api.ts';
import { bytesOf, clockOf, numberOf, shortIdOf } from '../../../lib/format.ts';
import { useCan } from '../../../lib/session.ts';
import { Failure } from '../../../parts/failure.tsx';
import { SearchField } from '../../../parts/search-field.tsx';
import { Segments } from '../../../parts/segments.tsx';
import type { Turn } from '../turn.ts';
import { ChangeList } from './change-list.tsx';
import type { FileChange } from './file-changes.ts';
import { Download, FilePanel } from './file-panel.tsx';
import { nodeAt, parentOf, rowsOf, type TreeRow, treeOf } from './file-tree.ts';
import { TreeView } from './tree-view.tsx';
import { DropArea, UploadButton, useUpload } from './upload.tsx';
import { type Listing, mostListed, urlOf, useListing } from './use-files.ts';

/** What the view shows; it is in the address of the page. */
export interface FilesPlace {
  /** The files as they were after this run; absent: now. */
  run?: string;
  /** The chosen file or folder. */
  path?: string;
  /** Changes instead of files: key of the chosen one, or `latest`. */
  change?: string;
}

/** With more entries than this, folders are closed at first. */
const openUpTo = 100;
const runsAtMost = 200;
const noFiles: Listing = { version: null, count: 0, bytes: 0, files: [] };

const hasNone = (error: Error) => error instanceof ApiError && error.code === 'workspace_refused';

/** The files of a thread, now or after a run, and what each run changed. */
export default function FilesView(props: {
  threadId: string;
  changes: readonly FileChange[];
  turns: ReadonlyMap<string, Turn>;
  place: FilesPlace;
  onGo(place: FilesPlace): void;
}): ReactNode {
  const { threadId, changes, turns, place, onGo } = props;
  const { run, path, change } = place;
  const { data, error } = useListing(threadId, run);
  const listing = data ?? noFiles;
  const tree = useMemo(() => treeOf(listing.files), [listing]);
  const node = path === undefined ? undefined : nodeAt(tree, path);
  const folder = node === undefined ? '' : node.kind === 'dir' ? node.path : parentOf(node.path);
  const exists = (one: string) => nodeAt(tree, one) !== undefined;
  const { isUploading, upload } = useUpload({ threadId, folder, exists });
  const canChange = useCan()('threads') && run === undefined && !error;
  const shownRun = run === undefined ? {} : { run };
  return (
    <DropArea isOn={canChange && change === undefined} onFiles={upload}>
      <div className="filters">
        <Segments<'files' | 'changes'>
          label="Files or changes"
          options={[
            ['files', 'Files'],
            ['changes', 'Changes'],
          ]}
          value={change === undefined ? 'files' : 'changes'}
          onChange={(next) => onGo(next === 'files' ? {} : { change: 'latest' })}
        />
        {change === undefined && (
          <>
            <VersionSelect
              run={run}
              turns={turns}
              changes={changes}
              onChange={(next) => onGo({ ...(next && { run: next }), ...(path !== undefined && { path }) })}
            />
            <span className="muted">
              {numberOf(listing.count)} files, {bytesOf(listing.bytes)}
            </span>
            <span className="grow" />
            {canChange && <UploadButton folder={folder} isUploading={isUploading} onFiles={upload} />}
            {listing.count > 0 && (
              <Download href={urlOf(threadId, { format: 'tar', ...shownRun })}>Download all (tar)</Download>
            )}
          </>
        )}
      </div>
      {error && (hasNone(error) ? <p className="empty">{error.message}</p> : <Failure error={error} />)}
      {change !== undefined ? (
        <ChangeList
          threadId={threadId}
          changes={changes}
          chosen={change}
          onChoose={(key) => onGo({ change: key })}
        />
      ) : listing.files.length === 0 ? (
        !error && (
          <p className="empty">
            {!data ? 'Reading the files…' : run ? 'No file after this run' : 'No file yet'}
          </p>
        )
      ) : (
        <div className="split files">
          <Tree
            tree={tree}
            listing={listing}
            chosen={path}
            onChoose={(next) => onGo({ ...shownRun, path: next })}
          />
          {node && node !== tree ? (
            <FilePanel
              key={node.path}
              threadId={threadId}
              run={run}
              node={node}
              canChange={canChange}
              onDeleted={() => onGo({})}
            />
          ) : (
            <p className="empty grow">
              {path === undefined ? 'Choose a file' : `There is no ${path} in this version`}
            </p>
          )}
        </div>
      )}
    </DropArea>
  );
}

function VersionSelect(props: {
  run: string | undefined;
  turns: ReadonlyMap<string, Turn>;
  changes: readonly FileChange[];
  onChange(run: string | undefined): void;
}): ReactNode {
  const { run, turns, changes, onChange } = props;
  const ended = [...turns.values()].filter(({ endedAt }) => endedAt).slice(-runsAtMost);
  const changing = new Set(changes.map(({ runId }) => runId));
  const nameOf = ({ runId, endedAt = '' }: Turn) =>
    `After ${shortIdOf(runId)}, ${clockOf(endedAt)}${changing.has(runId) ? '' : ', which changed nothing'}`;
  return (
    <select
      aria-label="Version of the files"
      value={run ?? ''}
      onChange={(event) => onChange(event.target.value || undefined)}
    >
      <option value="">Now</option>
      {run !== undefined && !ended.some(({ runId }) => runId === run) && (
        <option value={run}>After {shortIdOf(run)}</option>
      )}
      {ended.reverse().map((turn) => (
        <option key={turn.runId} value={turn.runId}>
          {nameOf(turn)}
        </option>
      ))}
    </select>
  );
}

function Tree(props: {
  tree: ReturnType<typeof treeOf>;
  listing: Listing;
  chosen: string | undefined;
  onChoose(path: string): void;
}): ReactNode {
  const { tree, listing, chosen, onChoose } = props;
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text.toLowerCase());
  // Folders that are not as they are at first: all open where there are few files, else only those above the chosen file.
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  const [opensAll] = useState(listing.files.length <= openUpTo);
  const [first] = useState(chosen);
  const rows = useMemo(() => {
    if (wanted !== '')
      return rowsOf(
        treeOf(listing.files.filter(({ path }) => path.toLowerCase().includes(wanted))),
        () => true,
      );
    const isAbove = (path: string) => first?.startsWith(`${path}/`) === true;
    return rowsOf(tree, (path) => (opensAll || isAbove(path)) !== turned.has(path));
  }, [tree, listing, wanted, turned, opensAll, first]);
  const open = ({ node: { path, kind } }: TreeRow) => {
    if (kind === 'dir')
      setTurned((before) => {
        const after = new Set(before);
        if (!after.delete(path)) after.add(path);
        return after;
      });
    onChoose(path);
  };
  return (
    <div className="tree-frame">
      <SearchField label="Filter the files" placeholder="Filter by path" value={text} onChange={setText} />
      <TreeView label="Files of the thread" rows={rows} chosen={chosen} onOpen={open} />
      {listing.files.length >= mostListed && (
        <p className="muted">The first {numberOf(mostListed)} entries. The archive has all.</p>
      )}
    </div>
  );
}
