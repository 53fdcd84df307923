import type { BusTaskDetail } from '@harness/contracts';
import type { ReactNode } from 'react';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Failure } from '../../parts/failure.tsx';
import { JsonText } from '../../parts/json-text.tsx';
import { SidePanel } from '../../parts/side-panel.tsx';
import { State } from '../../parts/state.tsx';
import { useBus, useBusAction } from './use-bus.ts';

/** One task of the bus: who has it, why it is where it is, its payload and result. */
export function BusTaskPanel({ taskId, onClose }: { taskId: string; onClose(): void }): ReactNode {
  const act = useBusAction();
  const path = `/v1/bus/tasks/${encodeURIComponent(taskId)}`;
  const { data: task, error } = useBus<BusTaskDetail>(path);
  const mayRetry = task && ['in_progress', 'blocked', 'dead'].includes(task.state);
  return (
    <SidePanel
      label="The chosen task"
      title={taskId}
      onClose={onClose}
      actions={
        mayRetry && (
          <ActionButton
            kind="primary"
            onAct={() => act(`${path}/retry`)}
            done="The task is in the queue again."
            {...(task.state === 'in_progress' && {
              confirm: 'A worker has this task. Take it back into the queue?',
            })}
          >
            Retry
          </ActionButton>
        )
      }
    >
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
    </SidePanel>
  );
}
