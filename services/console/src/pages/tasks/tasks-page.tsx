/**
 * The page of delegated tasks.
 *
 * This folder:
 *   task-tree.ts   tasks as trees
 *   task-panel.tsx one task
 */
import type { Task } from '@harness/contracts';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { get } from '../../lib/api.ts';
import { durationOf, lineOf, numberOf, shortIdOf } from '../../lib/format.ts';
import { useNow } from '../../lib/use-now.ts';
import { useRefresh } from '../../lib/use-refresh.ts';
import { Ago } from '../../parts/ago.tsx';
import { type Column, DataTable, none } from '../../parts/data-table.tsx';
import { Failure } from '../../parts/failure.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Segments } from '../../parts/segments.tsx';
import { State, toneOf } from '../../parts/state.tsx';
import { TaskPanel } from './task-panel.tsx';
import { endOf, isOpen, rootThreadOf, type TaskNode, treesOf } from './task-tree.ts';
import './tasks.css';

const most = 200;

const columns: readonly Column<TaskNode>[] = [
  {
    id: 'task',
    header: 'Task',
    width: 'minmax(240px, 2fr)',
    cell: ({ task, depth }) => (
      <span className="cut" style={{ paddingLeft: depth * 18 }}>
        {depth > 0 && <span className="muted">└ </span>}
        {lineOf(task.prompt, 120)}
      </span>
    ),
  },
  { id: 'status', header: 'Status', width: '118px', cell: ({ task }) => <State is={task.status} /> },
  {
    id: 'review',
    header: 'Review',
    width: '150px',
    cell: ({ task }) =>
      task.verdict ? (
        <span className={`tone-${toneOf(task.verdict)}`}>{task.verdict.replaceAll('_', ' ')}</span>
      ) : (
        none
      ),
  },
  {
    id: 'iteration',
    header: 'Try',
    width: '64px',
    isNumber: true,
    cell: ({ task }) => `${task.iteration} / ${task.maxIterations}`,
  },
  { id: 'time', header: 'Time', width: 'minmax(140px, 1fr)', cell: (node) => <TimeBar {...node} /> },
  { id: 'took', header: 'Took', width: '92px', isNumber: true, cell: ({ task }) => <Took task={task} /> },
  { id: 'where', header: 'Where', width: '76px', cell: ({ task }) => task.target },
  {
    id: 'begun',
    header: 'Begun',
    width: '84px',
    isNumber: true,
    cell: ({ task }) => <Ago at={task.createdAt} />,
  },
];

function TimeBar({ task, fromMs, toMs }: TaskNode): ReactNode {
  const now = useNow();
  const start = Date.parse(task.createdAt);
  const part = (ms: number) => `${(100 * ms) / Math.max(1, toMs - fromMs)}%`;
  return (
    <span className="task-lane" aria-hidden="true">
      <span
        className={`task-bar tone-${toneOf(task.status)}`}
        style={{ left: part(start - fromMs), width: part(endOf(task, now) - start) }}
      />
    </span>
  );
}

function Took({ task }: { task: Task }): ReactNode {
  return durationOf(endOf(task, useNow()) - Date.parse(task.createdAt));
}

const filters = [
  ['', 'All'],
  ['open', 'Open'],
  ['failed', 'Failed'],
] as const;

interface TaskSearch {
  show?: 'open' | 'failed';
  task?: string;
}

/** Delegated work: what is below what, how long it took, what the reviews said. */
export default function TasksPage(): ReactNode {
  const { show, task: chosen } = useSearch({ strict: false }) as TaskSearch;
  const navigate = useNavigate();
  const { data, error } = useQuery({
    queryKey: ['tasks'],
    queryFn: () => get<{ tasks: Task[] }>(`/v1/tasks?limit=${most}`),
    refetchInterval: 2_000,
  });
  const nodes = useMemo(() => {
    const all = treesOf(data?.tasks ?? [], Date.now());
    if (show === 'open') return all.filter(({ task }) => isOpen(task));
    if (show === 'failed')
      return all.filter(({ task }) => task.status === 'failed' || task.verdict === 'max_iterations_reached');
    return all;
  }, [data, show]);
  const set = (search: TaskSearch) => void navigate({ to: '/tasks', search, replace: true });
  const found = data?.tasks.find(({ taskId }) => taskId === chosen);
  useRefresh(data && found && `/v1/threads/${rootThreadOf(found, data.tasks)}/events?children=true`, 'tasks');
  return (
    <div className="page">
      <PageHead
        title="Tasks"
        facts={
          <span className="muted">
            {data && `${numberOf(nodes.length)}${data.tasks.length === most ? ' of the latest' : ''}`}
          </span>
        }
      />
      <div className="filters">
        <Segments
          label="Which tasks"
          options={filters}
          value={show ?? ''}
          onChange={(value) => set(value === '' ? {} : { show: value })}
        />
      </div>
      {error && <Failure error={error} />}
      {data && (
        <div className="split">
          <DataTable
            label="Tasks"
            columns={columns}
            items={nodes}
            keyOf={({ task }) => task.taskId}
            selected={chosen}
            onOpen={({ task }) => set({ ...(show && { show }), task: task.taskId })}
            empty={
              <>
                <strong>No tasks</strong>An agent delegates with delegation__delegate, a person with
                /delegate, a program with POST /v1/tasks.
              </>
            }
          />
          {found && (
            <TaskPanel
              key={found.taskId}
              task={found}
              name={shortIdOf(found.taskId)}
              onClose={() => set(show ? { show } : {})}
            />
          )}
        </div>
      )}
    </div>
  );
}
