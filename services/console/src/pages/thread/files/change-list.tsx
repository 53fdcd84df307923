import { type ReactNode, useMemo } from 'react';
import { clockOf, lineOf, shortIdOf } from '../../../lib/format.ts';
import { Failure } from '../../../parts/failure.tsx';
import { CodeLines } from './code-lines.tsx';
import { diffLinesOf } from './diff-lines.ts';
import { countOf, type FileChange } from './file-changes.ts';
import { useDiff } from './use-files.ts';

const mostListed = 200;

/** Every change of the files, latest first, and the diff of the chosen one. */
export function ChangeList(props: {
  threadId: string;
  changes: readonly FileChange[];
  /** Its key; another text: the latest. */
  chosen: string;
  onChoose(key: string): void;
}): ReactNode {
  const { threadId, changes, chosen, onChoose } = props;
  const latest = changes.slice(-mostListed).reverse();
  const change = changes.find(({ key }) => key === chosen) ?? latest[0];
  if (!change) return <p className="empty">No change yet</p>;
  return (
    <div className="split files">
      <ol className="changes" aria-label="Changes of the files">
        {latest.map((one) => (
          <li key={one.key}>
            <button type="button" aria-pressed={one.key === change.key} onClick={() => onChoose(one.key)}>
              <span className="row">
                <time dateTime={one.at} className="muted">
                  {clockOf(one.at)}
                </time>
                <span className="grow">{countOf(one)}</span>
                <span className="mono muted">{one.runId ? shortIdOf(one.runId) : 'a caller'}</span>
              </span>
              <span className="mono muted cut">{lineOf(one.changed.join(', '))}</span>
            </button>
          </li>
        ))}
      </ol>
      <Diff key={change.key} threadId={threadId} change={change} />
    </div>
  );
}

function Diff({ threadId, change }: { threadId: string; change: FileChange }): ReactNode {
  const { data, error } = useDiff(threadId, change);
  const lines = useMemo(() => diffLinesOf(data?.text ?? ''), [data]);
  const { runId, before, changed } = change;
  const by = runId ? shortIdOf(runId) : 'a caller';
  return (
    <section className="file-panel" aria-label="What changed">
      <header className="row">
        <h2 className="grow cut">
          {countOf(change)} by {by}
        </h2>
        {data?.sinceRun && (
          <span className="muted">compared with the files after the run before, if there is one</span>
        )}
      </header>
      {error ? (
        <Failure error={error} />
      ) : before === undefined && runId === undefined ? (
        <CodeLines label="Changed paths" lines={changed.map((path) => ({ kind: 'file', text: path }))} />
      ) : !data ? (
        <p className="empty">Comparing…</p>
      ) : data.text === '' ? (
        <p className="empty">Nothing differs</p>
      ) : (
        <CodeLines label={`Changes by ${by}`} lines={lines} />
      )}
    </section>
  );
}
