import type { BusTask, BusTaskDetail, BusTaskState, BusWorker } from '@harness/contracts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api, get, withQuery } from '../../lib/api.ts';
import { lineOf, numberOf } from '../../lib/format.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Failure } from '../../parts/failure.tsx';
import { JsonText } from '../../parts/json-text.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Chip, State } from '../../parts/state.tsx';
import { type View, Views } from './views.tsx';

const everyMs = 2_000;

const taskColumns: readonly Column<BusTask>[] = [
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
    cell: ({ worker }) => worker ?? <span className="muted">–</span>,
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

const workerColumns: readonly Column<BusWorker>[] = [
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

const states = [
  ['', 'All'],
  ['queued', 'Queued'],
  ['in_progress', 'In progress'],
  ['blocked', 'Blocked'],
  ['dead', 'Dead letters'],
  ['done', 'Done'],
] as const satisfies readonly (readonly [BusTaskState | '', string])[];

interface Status {
  depth: number;
  assigned: number;
  inProgress: number;
  blocked: number;
  dead: number;
  done: number;
  workers: number;
  workersPolling: number;
  oldestQueuedAt: string | null;
}

interface BusSearch {
  state?: BusTaskState;
  task?: string;
}

/** The bus: the queue of external workers, the workers, and what nobody could do. */
export default function BusPage(): ReactNode {
  const [view, setView] = useState<View>('tasks');
  const { data: status, error } = useQuery({
    queryKey: ['bus', 'status'],
    queryFn: () => get<Status>('/v1/bus/status'),
    refetchInterval: everyMs,
  });
  return (
    <div className="page">
      <PageHead title="Bus" facts={status && <Facts {...status} />} />
      {error && <Failure error={error} />}
      <Views value={view} onChange={setView}>
        {view === 'tasks' ? <Tasks /> : <Workers />}
      </Views>
    </div>
  );
}

function Facts({
  depth,
  inProgress,
  assigned,
  dead,
  blocked,
  workers,
  workersPolling,
  oldestQueuedAt,
}: Status): ReactNode {
  return (
    <>
      <span>
        {numberOf(depth)} queued{' '}
        {oldestQueuedAt && (
          <span className="muted">
            (oldest <Ago at={oldestQueuedAt} />)
          </span>
        )}
      </span>
      <span>{numberOf(inProgress + assigned)} with workers</span>
      {blocked > 0 && <Chip tone="warn">{numberOf(blocked)} blocked</Chip>}
      {dead > 0 && <Chip tone="bad">{numberOf(dead)} dead</Chip>}
      <span className="muted">
        {numberOf(workers)} workers, {numberOf(workersPolling)} waiting
      </span>
    </>
  );
}

function Tasks(): ReactNode {
  const { state, task: chosen } = useSearch({ strict: false }) as BusSearch;
  const navigate = useNavigate();
  const { data, error } = useQuery({
    queryKey: ['bus', 'tasks', state],
    queryFn: () => get<{ tasks: BusTask[] }>(withQuery('/v1/bus/tasks', { limit: 200, state })),
    refetchInterval: everyMs,
    placeholderData: (before) => before,
  });
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
            columns={taskColumns}
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
            <TaskPanel key={chosen} taskId={chosen} onClose={() => set(state ? { state } : {})} />
          )}
        </div>
      )}
    </>
  );
}

function TaskPanel({ taskId, onClose }: { taskId: string; onClose(): void }): ReactNode {
  const queries = useQueryClient();
  const path = `/v1/bus/tasks/${encodeURIComponent(taskId)}`;
  const { data: task, error } = useQuery({
    queryKey: ['bus', 'task', taskId],
    queryFn: () => get<BusTaskDetail>(path),
    refetchInterval: everyMs,
  });
  const retry = async () => {
    await api('POST', `${path}/retry`);
    await queries.invalidateQueries({ queryKey: ['bus'] });
  };
  const mayRetry = task && ['in_progress', 'blocked', 'dead'].includes(task.state);
  return (
    <aside className="side-panel" aria-label="The chosen task">
      <div className="row">
        <h2 className="mono grow cut">{taskId}</h2>
        {mayRetry && (
          <ActionButton
            kind="primary"
            onAct={retry}
            done="The task is in the queue again."
            {...(task.state === 'in_progress' && {
              confirm: 'A worker has this task. Take it back into the queue?',
            })}
          >
            Retry
          </ActionButton>
        )}
        <button type="button" className="quiet" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </div>
      {error && <Failure error={error} />}
      {task && (
        <>
          <dl className="facts">
            <dt>State</dt>
            <dd>
              <State is={task.state} /> since <Ago at={task.updatedAt} />
            </dd>
            <dt>Worker</dt>
            <dd>{task.worker ?? '–'}</dd>
            <dt>Requires</dt>
            <dd>{task.requires.length === 0 ? 'nothing' : task.requires.join(', ')}</dd>
            {task.reason && (
              <>
                <dt>Reason</dt>
                <dd>{task.reason}</dd>
              </>
            )}
          </dl>
          {task.payload !== undefined && (
            <>
              <h3>Payload</h3>
              <JsonText value={task.payload} label="Payload" />
            </>
          )}
          {task.result !== undefined && (
            <>
              <h3>Result</h3>
              <JsonText value={task.result} label="Result" />
            </>
          )}
        </>
      )}
    </aside>
  );
}

function Workers(): ReactNode {
  const { data, error } = useQuery({
    queryKey: ['bus', 'workers'],
    queryFn: () => get<{ workers: BusWorker[] }>('/v1/bus/workers?limit=200'),
    refetchInterval: everyMs,
  });
  return (
    <>
      {error && <Failure error={error} />}
      {data && (
        <DataTable
          label="External workers"
          columns={workerColumns}
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
  const queries = useQueryClient();
  const reset = async () => {
    await api('POST', `/v1/bus/workers/${encodeURIComponent(name)}/reset`);
    await queries.invalidateQueries({ queryKey: ['bus'] });
  };
  return (
    <ActionButton kind="quiet" onAct={reset} confirm={`Make ${name} idle? Its task goes back to the queue.`}>
      Reset
    </ActionButton>
  );
}
