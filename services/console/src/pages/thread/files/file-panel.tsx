import type { ListedFile } from '@harness/contracts';
import { type ReactNode, useMemo } from 'react';
import { bytesOf, numberOf } from '../../../lib/format.ts';
import { ActionButton } from '../../../parts/action-button.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { CodeLines } from './code-lines.tsx';
import { linesOf } from './diff-lines.ts';
import type { TreeNode } from './file-tree.ts';
import { deleteFile, mostShown, urlOf, useContent } from './use-files.ts';

/** The chosen file with its text, or the chosen folder. With `run` it is shown as it was after that run, and is read-only. */
export function FilePanel(props: {
  threadId: string;
  run: string | undefined;
  node: TreeNode;
  canChange: boolean;
  onDeleted(): void;
}): ReactNode {
  const { threadId, run, node, canChange, onDeleted } = props;
  const { path, kind, size, count, file } = node;
  const remove = async () => {
    await deleteFile(threadId, path, file?.sha256);
    onDeleted();
  };
  return (
    <section className="file-panel" aria-label="The chosen file">
      <header className="row">
        <h2 className="mono cut grow">{kind === 'dir' ? `${path}/` : path}</h2>
        <span className="muted">
          {kind === 'dir' && `${numberOf(count)} files, `}
          {kind === 'symlink' ? 'symbolic link' : bytesOf(size)}
        </span>
        {kind === 'file' && (
          <Download href={urlOf(threadId, { path, ...(run && { run }) })}>Download</Download>
        )}
        {canChange && (
          <ActionButton
            kind="danger"
            onAct={remove}
            confirm={kind === 'dir' ? `Delete the folder ${path} and all in it?` : `Delete ${path}?`}
          >
            Delete {kind === 'dir' ? 'folder' : 'file'}
          </ActionButton>
        )}
      </header>
      {kind === 'file' && file && <Content threadId={threadId} run={run} file={file} />}
      {kind === 'symlink' && (
        <p className="empty">It leads to {file?.target}. Links are not followed here.</p>
      )}
      {kind === 'dir' && <p className="empty">Choose a file</p>}
    </section>
  );
}

/** A link that downloads what the gateway sends as an attachment. */
export const Download = ({ href, children }: { href: string; children: ReactNode }) => (
  <a className="button" href={href} download>
    {children}
  </a>
);

function Content({
  threadId,
  run,
  file,
}: {
  threadId: string;
  run: string | undefined;
  file: ListedFile;
}): ReactNode {
  const { data, error } = useContent(threadId, run, file);
  const lines = useMemo(() => (typeof data === 'string' ? linesOf(data) : []), [data]);
  const { path, size = 0 } = file;
  if (size > mostShown)
    return (
      <p className="empty">
        The file has {bytesOf(size)}, and is shown up to {bytesOf(mostShown)}. Download it to read it.
      </p>
    );
  if (error) return <Failure error={error} />;
  if (data === undefined) return <p className="empty">Reading the file…</p>;
  if (data === null)
    return (
      <p className="empty">
        {typeOf(path)}, {bytesOf(size)}: not text. Download it to open it.
      </p>
    );
  if (data === '') return <p className="empty">The file is empty</p>;
  return <CodeLines label={`Content of ${path}`} lines={lines} />;
}

/** What a file seems to be by its name. */
function typeOf(path: string): string {
  const [, ending] = /\.([A-Za-z0-9]{1,8})$/.exec(path) ?? [];
  return ending ? `${ending.toUpperCase()} file` : 'Binary file';
}
