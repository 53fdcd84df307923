import type { BusTask, BusTaskState } from '@harness/contracts';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { withQuery } from '../../lib/api.ts';
import { lineOf } from '../../lib/format.ts';
import { Ago } from '../../parts/ago.tsx';
import { type Column, DataTable, none } from '../../parts/data-table.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Segments } from '../../parts/segments.tsx';
import { State } from '../../parts/state.tsx';
import { BusTaskPanel } from './bus-task-panel.tsx';
import { useBus } from './use-bus.ts';

const columns: readonly Column<BusTask>[] = [
  {
    id: 'task',
    header: 'Task',
    width: 'minmax(180px, 1fr)',
    cell: ({ taskId }) => <span className="mono cut">{taskId}</span>,
  },
  { id: 'state', header: 'State', width: '120px', cell: ({ state }) => <State is={state} /> },
  {
    id: 'reason',
    header: 'Reason',
    width: 'minmax(160px, 2fr)',
    cell: ({ reason }) => reason && lineOf(reason),
  },
  {
    id: 'worker',
    header: 'Worker',
    width: '140px',
    cell: ({ worker }) => worker ?? none,
  },
  { id: 'priority', header: 'Priority', width: '78px', isNumber: true, cell: ({ priority }) => priority },
  {
    id: 'attempts',
    header: 'Tries',
    width: '90px',
    isNumber: true,
    cell: ({ attempt, losses }) => `${attempt}${losses > 0 ? `, ${losses} lost` : ''}`,
  },
  {
    id: 'since',
    header: 'Since',
    width: '84px',
    isNumber: true,
    cell: ({ updatedAt }) => <Ago at={updatedAt} />,
  },
];

const states = [
  ['', 'All'],
  ['queued', 'Queued'],
  ['in_progress', 'In progress'],
  ['blocked', 'Blocked'],
  ['dead', 'Dead letters'],
  ['done', 'Done'],
] as const satisfies readonly (readonly [BusTaskState | '', string])[];

interface BusSearch {
  state?: BusTaskState;
  task?: string;
}

/** Tasks of the bus by state, the chosen one beside them. */
export function TaskList(): ReactNode {
  const { state, task: chosen } = useSearch({ strict: false }) as BusSearch;
  const navigate = useNavigate();
  const { data, error } = useBus<{ tasks: BusTask[] }>(withQuery('/v1/bus/tasks', { limit: 200, state }));
  const set = (search: BusSearch) => void navigate({ to: '/bus', search, replace: true });
  return (
    <>
      <div className="filters">
        <Segments
          label="State"
          options={states}
          value={state ?? ''}
          onChange={(value) => set(value === '' ? {} : { state: value })}
        />
      </div>
      {error && <Failure error={error} />}
      {data && (
        <div className="split">
          <DataTable
            label="Tasks of the bus"
            columns={columns}
            items={data.tasks}
            keyOf={({ taskId }) => taskId}
            selected={chosen}
            onOpen={({ taskId }) => set({ ...(state && { state }), task: taskId })}
            empty={
              <>
                <strong>No {state === 'dead' ? 'dead letter' : 'task'}</strong>External workers get what is
                submitted with POST /v1/bus/tasks, or delegated to the bus.
              </>
            }
          />
          {chosen !== undefined && (
            <BusTaskPanel key={chosen} taskId={chosen} onClose={() => set(state ? { state } : {})} />
          )}
        </div>
      )}
    </>
  );
}
