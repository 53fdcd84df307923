import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { clockOf, dollarsOf, durationOf, lineOf, numberOf, shortIdOf } from '../../lib/format.ts';
import { useNow } from '../../lib/use-now.ts';
import { JsonText } from '../../parts/json-text.tsx';
import { Chip, State } from '../../parts/state.tsx';
import { type FileChange, summaryOf } from './files/file-changes.ts';
import type { Feed, Row, ToolRow } from './thread-feed.ts';
import type { Turn } from './turn.ts';
import { useInputs } from './use-thread.ts';
import { Waterfall } from './waterfall.tsx';

/** A reader at most this far from the end is at the end, px. */
const nearEnd = 60;

/** The conversation, live. It scrolls with new rows while the reader is at its end. */
export function Conversation({
  threadId,
  feed,
  isReplaying,
}: {
  threadId: string;
  feed: Feed;
  isReplaying: boolean;
}): ReactNode {
  const view = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [hasNews, setNews] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const inputs = useInputs(threadId);
  const { rows } = feed;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => view.current,
    estimateSize: (index) => heightOf(rows[index]),
    overscan: 4,
    useFlushSync: false,
    getItemKey: (index) => rows[index]?.key ?? index,
  });
  const toEnd = useCallback(() => {
    if (view.current) view.current.scrollTop = view.current.scrollHeight;
  }, []);
  const height = virtual.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height and the rows are what moves the end
  useLayoutEffect(() => {
    if (isAtEnd.current) toEnd();
  }, [height, feed, toEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: news are new rows
  useEffect(() => {
    if (!isAtEnd.current) setNews(true);
  }, [rows.length]);
  const onScroll = useCallback(() => {
    const { scrollTop, clientHeight, scrollHeight } = view.current as HTMLDivElement;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < nearEnd;
    if (isAtEnd.current) setNews(false);
  }, []);
  const toggle = useCallback(
    (key: string) =>
      setOpen((before) => {
        const after = new Set(before);
        if (!after.delete(key)) after.add(key);
        return after;
      }),
    [],
  );
  if (rows.length === 0)
    return (
      <div className="empty grow">
        {isReplaying ? (
          'Reading the conversation…'
        ) : (
          <>
            <strong>No message yet</strong>Write the first one below. A line that begins with / is a command.
          </>
        )}
      </div>
    );
  return (
    <div className="feed-frame">
      <div
        ref={view}
        className="feed"
        role="log"
        aria-label="Conversation"
        aria-live="off"
        tabIndex={0}
        onScroll={onScroll}
      >
        <div className="feed-rows" style={{ height }}>
          {virtual.getVirtualItems().map(({ key, index, start }) => {
            const row = rows[index];
            return (
              row && (
                <div
                  key={key}
                  ref={virtual.measureElement}
                  data-index={index}
                  className="feed-row"
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <OneRow
                    row={row}
                    input={row.kind === 'input' ? inputs.get(row.runId) : undefined}
                    isOpen={open.has(row.key)}
                    onToggle={toggle}
                  />
                </div>
              )
            );
          })}
        </div>
      </div>
      {hasNews && (
        <button type="button" className="news" onClick={toEnd}>
          New below ↓
        </button>
      )}
    </div>
  );
}

const heightOf = (row: Row | undefined) =>
  row?.kind === 'tool' ? 32 : row?.kind === 'note' || row?.kind === 'files' ? 30 : 56;

interface RowProps {
  row: Row;
  /** Of a message: its text; undefined while it is not known. */
  input: string | undefined;
  isOpen: boolean;
  onToggle(key: string): void;
}

const OneRow = memo(function OneRow({ row, input, isOpen, onToggle }: RowProps): ReactNode {
  switch (row.kind) {
    case 'input':
      return <Input runKind={row.runKind} at={row.at} text={input} />;
    case 'text':
      return <div className={`said ${row.live ? 'live' : ''}`}>{row.text}</div>;
    case 'tool':
      return <Tool row={row} isOpen={isOpen} onToggle={onToggle} />;
    case 'note':
      return (
        <div className={`note tone-${row.tone}`}>
          <time dateTime={row.at}>{clockOf(row.at)}</time> {lineOf(row.text, 400)}
        </div>
      );
    case 'files':
      return <Files change={row.change} />;
    case 'end':
      return <End turn={row.turn} isOpen={isOpen} onToggle={() => onToggle(row.key)} />;
  }
});

const kindNames: Record<string, string> = {
  message: 'Message',
  delegate: 'Task',
  feedback: 'Feedback of the review',
  review: 'Review',
  notification: 'Notification',
};

function Input({ runKind, at, text }: { runKind: string; at: string; text: string | undefined }): ReactNode {
  return (
    <div className={`asked ${runKind === 'message' ? '' : 'by-system'}`}>
      <div className="by">
        {kindNames[runKind] ?? runKind} <time dateTime={at}>{clockOf(at)}</time>
      </div>
      <div className="words">{text ?? <span className="muted">…</span>}</div>
    </div>
  );
}

const Files = ({ change }: { change: FileChange }) => (
  <div className="note">
    <time dateTime={change.at}>{clockOf(change.at)}</time>{' '}
    <Link to="." search={{ view: 'files', change: change.key }} className="link">
      {lineOf(summaryOf(change), 400)}
    </Link>
  </div>
);

function Tool({
  row,
  isOpen,
  onToggle,
}: {
  row: ToolRow;
  isOpen: boolean;
  onToggle(key: string): void;
}): ReactNode {
  const { name, input, result, at, key } = row;
  return (
    <div className="tool">
      <button type="button" className="tool-line" aria-expanded={isOpen} onClick={() => onToggle(key)}>
        <span className="turner" aria-hidden="true">
          {isOpen ? '▾' : '▸'}
        </span>
        <span className="mono tool-name">{name}</span>
        <span className="mono cut muted">{lineOf(input, 160)}</span>
        {result ? (
          <>
            <span className={`mono cut ${result.isError ? 'tone-bad' : ''}`}>
              → {lineOf(result.text, 160)}
            </span>
            <span className="took">{durationOf(Date.parse(result.at) - Date.parse(at))}</span>
          </>
        ) : (
          <Since at={at} />
        )}
      </button>
      {isOpen && (
        <div className="tool-body">
          <h3>Arguments</h3>
          <JsonText value={input} label={`Arguments of ${name}`} />
          {result && (
            <>
              <h3>{result.isError ? 'Failure' : 'Result'}</h3>
              <JsonText value={result.text} label={`Result of ${name}`} />
            </>
          )}
        </div>
      )}
    </div>
  );
}

const Since = ({ at }: { at: string }) => (
  <span className="took tone-busy">running {durationOf(Math.max(0, useNow() - Date.parse(at)))}</span>
);

function End({ turn, isOpen, onToggle }: { turn: Turn; isOpen: boolean; onToggle(): void }): ReactNode {
  const { status = 'success', error, usage, timings, path, attempt = 1 } = turn;
  return (
    <div className="end">
      {error && (
        <div className="failure">
          <code>{error.code}</code> {error.message}
        </div>
      )}
      <button
        type="button"
        className="end-line"
        aria-expanded={isOpen}
        onClick={onToggle}
        title={`Run ${turn.runId}`}
      >
        <State is={status} />
        {timings?.totalMs != null && <span>{durationOf(timings.totalMs)}</span>}
        {path && <Chip title="How the run got its session">{path}</Chip>}
        {attempt > 1 && <Chip tone="warn">attempt {attempt}</Chip>}
        {usage && (
          <span className="muted">
            {numberOf(usage.inputTokens)} in · {numberOf(usage.outputTokens)} out · {dollarsOf(usage.costUsd)}
          </span>
        )}
        <span className="muted mono">{shortIdOf(turn.runId)}</span>
        <span className="turner" aria-hidden="true">
          {isOpen ? '▾' : '▸'}
        </span>
      </button>
      {isOpen && <Waterfall turn={turn} />}
    </div>
  );
}
