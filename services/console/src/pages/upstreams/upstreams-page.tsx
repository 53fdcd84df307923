import type { Upstream } from '@harness/contracts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { api, get } from '../../lib/api.ts';
import type { Diagnostic } from '../../lib/diagnostic.ts';
import { durationOf, lineOf, numberOf } from '../../lib/format.ts';
import { type Column, DataTable, none } from '../../parts/data-table.tsx';
import { Failure } from '../../parts/failure.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Chip, State, type Tone } from '../../parts/state.tsx';
import { UpstreamPanel } from './upstream-panel.tsx';

interface Listed {
  upstreams: Upstream[];
  diagnostics: Diagnostic[];
}

const tones: Record<Upstream['state'], Tone> = {
  ready: 'good',
  connecting: 'busy',
  waiting: 'bad',
  closed: 'plain',
  disabled: 'plain',
};

const columns: readonly Column<Upstream>[] = [
  {
    id: 'name',
    header: 'Upstream',
    width: 'minmax(140px, 1fr)',
    cell: ({ name }) => name,
    sort: ({ name }) => name,
  },
  {
    id: 'state',
    header: 'State',
    width: '120px',
    cell: ({ state }) => <State is={state} tone={tones[state]} />,
    sort: ({ state }) => state,
  },
  { id: 'kind', header: 'Kind', width: '74px', cell: ({ kind }) => kind },
  {
    id: 'server',
    header: 'Server',
    width: 'minmax(140px, 1fr)',
    cell: ({ server }) => (server ? `${server.name} ${server.version}` : none),
  },
  { id: 'tools', header: 'Tools', width: '70px', isNumber: true, cell: ({ tools }) => tools.length },
  {
    id: 'calls',
    header: 'Calls',
    width: '130px',
    isNumber: true,
    cell: ({ calls, failures }) =>
      failures > 0 ? `${numberOf(calls)}, ${numberOf(failures)} failed` : numberOf(calls),
    sort: ({ calls }) => calls,
  },
  {
    id: 'latency',
    header: 'p50 · p95',
    width: '140px',
    isNumber: true,
    cell: ({ latencyMs }) =>
      latencyMs ? `${durationOf(latencyMs.p50)} · ${durationOf(latencyMs.p95)}` : none,
  },
  {
    id: 'trouble',
    header: 'Trouble',
    width: 'minmax(160px, 2fr)',
    cell: ({ lastError, problems, lock }) => (
      <>
        {lock.length > 0 && <Chip tone="warn">{lock.length} from the lock</Chip>}{' '}
        {lineOf(lastError ?? problems[0] ?? '')}
      </>
    ),
  },
];

/** Other people's MCP servers that the fleet offers. */
export default function UpstreamsPage(): ReactNode {
  const { upstream: chosen } = useSearch({ strict: false }) as { upstream?: string };
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { data, error } = useQuery({
    queryKey: ['upstreams'],
    queryFn: () => get<Listed>('/v1/upstreams'),
    refetchInterval: 2_000,
  });
  const choose = (upstream?: string) =>
    void navigate({ to: '/upstreams', search: upstream === undefined ? {} : { upstream }, replace: true });
  const change = async (method: 'PATCH' | 'POST', path: string, body?: object) => {
    await api(method, `/v1/upstreams/${path}`, body ? { body } : {});
    await queries.invalidateQueries({ queryKey: ['upstreams'] });
  };
  const found = data?.upstreams.find(({ name }) => name === chosen);
  return (
    <div className="page">
      <PageHead title="Upstreams" facts={<span className="muted">MCP servers of others</span>} />
      {error && <Failure error={error} />}
      {data?.diagnostics.map(({ source, message }) => (
        <div key={`${source} ${message}`} className="banner">
          {source}: {message}
        </div>
      ))}
      {data && (
        <div className="split">
          <DataTable
            label="Upstreams"
            columns={columns}
            items={data.upstreams}
            keyOf={({ name }) => name}
            selected={chosen}
            onOpen={({ name }) => choose(name)}
            empty={
              <>
                <strong>No upstream</strong>
                HARNESS_UPSTREAMS_FILE names a file with MCP servers, as Claude Code, Cursor or VS Code have
                it.
              </>
            }
          />
          {found && (
            <UpstreamPanel key={found.name} upstream={found} onChange={change} onClose={() => choose()} />
          )}
        </div>
      )}
    </div>
  );
}
