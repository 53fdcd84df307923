/**
 * The page of the bus.
 *
 * This folder:
 *   worker-list.tsx    external workers
 *   task-list.tsx      tasks by state
 *   bus-task-panel.tsx one task
 *   use-bus.ts         reads the bus again when it changes
 */
import { type ReactNode, useState } from 'react';
import { numberOf } from '../../lib/format.ts';
import { Ago } from '../../parts/ago.tsx';
import { Failure } from '../../parts/failure.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Chip } from '../../parts/state.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { TaskList } from './task-list.tsx';
import { useBus, useBusEvents } from './use-bus.ts';
import { WorkerList } from './worker-list.tsx';

const tabs = [
  ['tasks', 'Tasks'],
  ['workers', 'Workers'],
] as const;
type View = (typeof tabs)[number][0];

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

/** The bus: the queue of external workers, the workers, and the tasks that none of them could do. */
export default function BusPage(): ReactNode {
  const [view, setView] = useState<View>('tasks');
  useBusEvents();
  const { data: status, error } = useBus<Status>('/v1/bus/status');
  return (
    <div className="page">
      <PageHead title="Bus" facts={status && <Facts {...status} />} />
      {error && <Failure error={error} />}
      <Tabs<View> label="Views of the bus" tabs={tabs} value={view} onChange={setView}>
        {view === 'tasks' ? <TaskList /> : <WorkerList />}
      </Tabs>
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
