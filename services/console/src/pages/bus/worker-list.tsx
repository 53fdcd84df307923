import type { BusWorker } from '@harness/contracts';
import type { ReactNode } from 'react';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Chip, State } from '../../parts/state.tsx';
import { useBus, useBusAction } from './use-bus.ts';

const columns: readonly Column<BusWorker>[] = [
  {
    id: 'name',
    header: 'Worker',
    width: 'minmax(160px, 1fr)',
    cell: ({ name }) => name,
    sort: ({ name }) => name,
  },
  {
    id: 'state',
    header: 'State',
    width: '120px',
    cell: ({ state }) => <State is={state} />,
    sort: ({ state }) => state,
  },
  {
    id: 'task',
    header: 'Task',
    width: 'minmax(160px, 1fr)',
    cell: ({ taskId }) => taskId && <span className="mono">{taskId}</span>,
  },
  {
    id: 'labels',
    header: 'Labels',
    width: 'minmax(140px, 1fr)',
    cell: ({ labels }) => labels.map((label) => <Chip key={label}>{label}</Chip>),
  },
  {
    id: 'seen',
    header: 'Seen',
    width: '84px',
    isNumber: true,
    cell: ({ seenAt }) => <Ago at={seenAt} />,
    sort: ({ seenAt }) => seenAt,
  },
  { id: 'reset', header: 'Reset', width: '92px', cell: ({ name }) => <Reset name={name} /> },
];

/** The external workers of the tenant. */
export function WorkerList(): ReactNode {
  const { data, error } = useBus<{ workers: BusWorker[] }>('/v1/bus/workers?limit=200');
  return (
    <>
      {error && <Failure error={error} />}
      {data && (
        <DataTable
          label="External workers"
          columns={columns}
          items={data.workers}
          keyOf={({ name }) => name}
          empty={
            <>
              <strong>No external worker</strong>One registers itself with bus__register_worker, or POST
              /v1/bus/workers.
            </>
          }
        />
      )}
    </>
  );
}

function Reset({ name }: { name: string }): ReactNode {
  const act = useBusAction();
  const reset = () => act(`/v1/bus/workers/${encodeURIComponent(name)}/reset`);
  return (
    <ActionButton kind="quiet" onAct={reset} confirm={`Make ${name} idle? Its task goes back to the queue.`}>
      Reset
    </ActionButton>
  );
}
