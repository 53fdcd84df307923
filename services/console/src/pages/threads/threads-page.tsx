import type { ListedThread } from '@harness/contracts';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { type ReactNode, useCallback, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { api, get } from '../../lib/api.ts';
import { lineOf, numberOf, shortIdOf } from '../../lib/format.ts';
import { useCan } from '../../lib/session.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { type Column, DataTable, none } from '../../parts/data-table.tsx';
import { Failure } from '../../parts/failure.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Segments } from '../../parts/segments.tsx';
import { State, toneOf } from '../../parts/state.tsx';
import { namesOf, type ThreadFilter, useThreads } from './threads-query.ts';

const columns: readonly Column<ListedThread>[] = [
  {
    id: 'thread',
    header: 'Thread',
    width: 'minmax(150px, 1fr)',
    cell: ({ threadId }) => <span className="mono cut">{shortIdOf(threadId)}</span>,
  },
  { id: 'state', header: 'State', width: '112px', cell: ({ state }) => <State is={state} /> },
  {
    id: 'latest',
    header: 'Latest message',
    width: 'minmax(200px, 3fr)',
    cell: (thread) => <Latest {...thread} />,
  },
  { id: 'agent', header: 'Agent', width: '120px', cell: ({ agent }) => agent ?? none },
  { id: 'skill', header: 'Skill', width: '120px', cell: ({ skill }) => skill ?? none },
  {
    id: 'used',
    header: 'Used',
    width: '84px',
    isNumber: true,
    cell: ({ updatedAt }) => <Ago at={updatedAt} />,
  },
];

function Latest({ latestRun, parentThreadId }: ListedThread): ReactNode {
  if (!latestRun) return <span className="muted">No message yet</span>;
  const { input, result, error, status } = latestRun;
  const end = error ?? result;
  return (
    <>
      {parentThreadId && <span className="muted">delegated · </span>}
      {lineOf(input)}
      {end && <span className={error ? `tone-${toneOf(status)}` : 'muted'}> → {lineOf(end)}</span>}
    </>
  );
}

const states = [
  ['', 'All'],
  ['busy', 'Busy'],
  ['idle', 'Idle'],
  ['interrupted', 'Interrupted'],
  ['error', 'Error'],
] as const;
const times = [
  ['', 'Any time'],
  ['1', 'Last hour'],
  ['24', 'Last day'],
  ['168', 'Last week'],
] as const;

/** Every thread of the tenant, with filters. */
export default function ThreadsPage(): ReactNode {
  const filter = useSearch({ strict: false }) as ThreadFilter;
  const navigate = useNavigate();
  const router = useRouter();
  const set = useCallback(
    (change: ThreadFilter) => {
      const to = '/threads';
      // A text that settles late must not lead back from a thread that was opened meanwhile.
      if (router.latestLocation.pathname !== router.buildLocation({ to }).pathname) return;
      void navigate({
        to,
        replace: true,
        search: (before: ThreadFilter) => withoutEmpty({ ...before, ...change }),
      });
    },
    [navigate, router],
  );
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, isPlaceholderData } =
    useThreads(filter);
  const threads = useMemo(() => uniqueOf(data?.pages.flatMap((page) => page.threads) ?? []), [data]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <div className="page">
      <PageHead
        title="Threads"
        facts={
          <span className="muted" aria-live="polite">
            {data && `${numberOf(threads.length)}${hasNextPage ? '+' : ''} shown`}
          </span>
        }
      >
        <NewThread />
      </PageHead>
      <Filters filter={filter} set={set} />
      {error && <Failure error={error} />}
      {data && (
        <div className={`page ${isPlaceholderData ? 'is-old' : ''}`}>
          <DataTable
            listed={JSON.stringify(filter)}
            label="Threads"
            columns={columns}
            items={threads}
            keyOf={(thread) => thread.threadId}
            hrefOf={(thread) => `/threads/${thread.threadId}`}
            onEnd={more}
            empty={<Empty isFiltered={isFiltered} isSearching={hasNextPage} onMore={more} />}
          />
        </div>
      )}
    </div>
  );
}

function Empty(props: { isFiltered: boolean; isSearching: boolean; onMore(): void }): ReactNode {
  const { isFiltered, isSearching, onMore } = props;
  if (isSearching)
    return (
      <>
        <strong>None among the latest 1,000 threads</strong>
        <button type="button" onClick={onMore}>
          Search further back
        </button>
      </>
    );
  if (isFiltered)
    return (
      <>
        <strong>No thread fits</strong>Change the filter above.
      </>
    );
  return (
    <>
      <strong>No threads yet</strong>A thread is a conversation. Make one with “New thread”, or with POST
      /v1/threads.
    </>
  );
}

function Filters({ filter, set }: { filter: ThreadFilter; set(change: ThreadFilter): void }): ReactNode {
  const [text, setText] = useState(filter.q ?? '');
  const settled = useDeferredValue(text);
  useEffect(() => {
    if (settled === (filter.q ?? '')) return;
    const timer = setTimeout(() => set({ q: settled }), 200);
    return () => clearTimeout(timer);
  }, [settled, filter.q, set]);
  const can = useCan();
  const { data: agents } = useQuery({
    queryKey: ['agents'],
    queryFn: () => get<{ agents: { name: string }[] }>('/v1/agents'),
    staleTime: 30_000,
  });
  const { data: skills } = useQuery({
    queryKey: ['skills'],
    queryFn: () => get<{ skills: { name: string }[] }>('/v1/skills'),
    staleTime: 30_000,
    enabled: can('tools'),
  });
  return (
    <search className="filters">
      <SearchField
        label="Search in ids, metadata and latest messages"
        placeholder="Search ids, metadata, messages"
        value={text}
        onChange={setText}
      />
      <MetadataField key={filter.where} where={filter.where ?? ''} onChange={(where) => set({ where })} />
      <Segments
        label="State"
        options={states}
        value={filter.state ?? ''}
        onChange={(state) => set({ state })}
      />
      <Choice
        label="Agent"
        names={namesOf(agents?.agents)}
        value={filter.agent}
        onChange={(agent) => set({ agent })}
      />
      <Choice
        label="Skill"
        names={namesOf(skills?.skills)}
        value={filter.skill}
        onChange={(skill) => set({ skill })}
      />
      <select
        aria-label="Time"
        value={String(filter.hours ?? '')}
        onChange={(event) => set({ hours: Number(event.target.value) })}
      >
        {times.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </search>
  );
}

/** A field of the metadata and its value, `customer=acme`; it filters when it is whole and is left, or Enter is pressed. */
function MetadataField({ where, onChange }: { where: string; onChange(where: string): void }): ReactNode {
  const [text, setText] = useState(where);
  const isWhole = text === '' || /^[^=]{1,64}=/.test(text);
  const apply = () => {
    if (isWhole && text !== where) onChange(text);
  };
  return (
    <input
      type="text"
      className="mono"
      aria-label="A field of the metadata and its value"
      placeholder="metadata: field=value"
      title="Threads whose metadata has this value, for example customer=acme"
      maxLength={300}
      spellCheck={false}
      aria-invalid={!isWhole}
      value={text}
      onChange={(event) => {
        setText(event.target.value);
        if (event.target.value === '' && where !== '') onChange('');
      }}
      onBlur={apply}
      onKeyDown={(event) => {
        if (event.key === 'Enter') apply();
      }}
    />
  );
}

function Choice(props: {
  label: string;
  names: readonly string[];
  value: string | undefined;
  onChange(name: string): void;
}): ReactNode {
  const { label, names, value = '', onChange } = props;
  if (names.length === 0 && value === '') return null;
  const all = names.includes(value) || value === '' ? names : [...names, value];
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">Any {label.toLowerCase()}</option>
      {all.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

function NewThread(): ReactNode {
  const navigate = useNavigate();
  const create = async () => {
    const { threadId } = await api<{ threadId: string }>('POST', '/v1/threads', { body: {} });
    await navigate({ to: `/threads/${threadId}` });
  };
  return (
    <ActionButton kind="primary" onAct={create}>
      New thread
    </ActionButton>
  );
}

const withoutEmpty = (filter: ThreadFilter): ThreadFilter =>
  Object.fromEntries(
    Object.entries(filter).filter(([, value]) => value !== '' && value !== 0 && value !== undefined),
  );

/** A thread that was used between two pages is in both. */
function uniqueOf(threads: readonly ListedThread[]): ListedThread[] {
  const seen = new Set<string>();
  return threads.filter(({ threadId }) => !seen.has(threadId) && seen.add(threadId));
}
