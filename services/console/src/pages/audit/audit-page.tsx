import type { AuditRecord } from '@harness/contracts';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { get, withQuery } from '../../lib/api.ts';
import { dayOf, shortIdOf } from '../../lib/format.ts';
import { type Column, DataTable, none } from '../../parts/data-table.tsx';
import { Failure } from '../../parts/failure.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { State } from '../../parts/state.tsx';

const columns: readonly Column<AuditRecord>[] = [
  { id: 'at', header: 'When', width: '196px', cell: ({ at }) => dayOf(at) },
  {
    id: 'outcome',
    header: 'Outcome',
    width: '150px',
    cell: ({ outcome, count }) => (
      <State
        is={outcome}
        tone={outcome === 'ok' ? 'good' : 'bad'}
        label={count ? `${outcome} × ${count}` : outcome}
      />
    ),
  },
  {
    id: 'action',
    header: 'Action',
    width: 'minmax(150px, 1fr)',
    cell: ({ action }) => <span className="mono">{action}</span>,
  },
  {
    id: 'target',
    header: 'Target',
    width: 'minmax(160px, 1.4fr)',
    cell: ({ target }) => (target ? <span className="mono">{shortIdOf(target)}</span> : none),
  },
  { id: 'who', header: 'Who', width: 'minmax(120px, 1fr)', cell: ({ keyId }) => keyId ?? none },
  { id: 'tenant', header: 'Tenant', width: '110px', cell: ({ tenant }) => tenant ?? none },
  { id: 'address', header: 'Address', width: '130px', cell: ({ address }) => address ?? none },
];

interface AuditPageOf {
  records: AuditRecord[];
  nextCursor: string | null;
}

/** Who changed or called what, and who was refused. */
export default function AuditPage(): ReactNode {
  const [text, setText] = useState('');
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['audit'],
    queryFn: ({ pageParam, signal }) =>
      get<AuditPageOf>(withQuery('/v1/audit', { limit: 200, cursor: pageParam }), signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : 3_000),
  });
  const records = useMemo(() => {
    const all = (data?.pages.flatMap((page) => page.records) ?? []).map((record, index) => ({
      ...record,
      index,
    }));
    const wanted = text.toLowerCase();
    return wanted === ''
      ? all
      : all.filter((record) => Object.values(record).join('\n').toLowerCase().includes(wanted));
  }, [data, text]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <div className="page">
      <PageHead title="Audit" facts={<span className="muted">what was changed, called or refused</span>} />
      <div className="filters">
        <SearchField
          label="Filter what is loaded"
          placeholder="Filter by action, key, target, address"
          value={text}
          onChange={setText}
        />
      </div>
      {error && <Failure error={error} />}
      {data && (
        <DataTable
          label="Audit records"
          columns={columns}
          items={records}
          keyOf={({ at, requestId, action, target, index }) =>
            `${at} ${requestId} ${action} ${target} ${index}`
          }
          onEnd={more}
          empty={<strong>No record{text ? ' fits' : ''}</strong>}
        />
      )}
    </div>
  );
}
