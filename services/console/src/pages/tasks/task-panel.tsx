import type { Task, ThreadEvent } from '@harness/contracts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { api, get } from '../../lib/api.ts';
import { clockOf, lineOf, shortIdOf } from '../../lib/format.ts';
import { useCan } from '../../lib/session.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { JsonText } from '../../parts/json-text.tsx';
import { SidePanel } from '../../parts/side-panel.tsx';
import { State } from '../../parts/state.tsx';
import { isOpen } from './task-tree.ts';

/** One task: its prompt, its reviews, its result and its events. */
export function TaskPanel({ task, name, onClose }: { task: Task; name: string; onClose(): void }): ReactNode {
  const queries = useQueryClient();
  const can = useCan();
  const { taskId, threadId, parentThreadId, prompt, feedback, result, error } = task;
  const cancel = async () => {
    await api('POST', `/v1/tasks/${taskId}/cancel`);
    await queries.invalidateQueries({ queryKey: ['tasks'] });
  };
  return (
    <SidePanel
      label="The chosen task"
      title={name}
      onClose={onClose}
      actions={
        isOpen(task) && (
          <ActionButton kind="danger" onAct={cancel} confirm="Cancel this task and every task below it?">
            Cancel
          </ActionButton>
        )
      }
    >
      <dl className="facts">
        <dt>Status</dt>
        <dd>
          <State is={task.status} />
        </dd>
        <dt>Thread</dt>
        <dd>{can('threads') ? <ThreadLink id={threadId} /> : threadId}</dd>
        {parentThreadId && (
          <>
            <dt>Delegated by</dt>
            <dd>{can('threads') ? <ThreadLink id={parentThreadId} /> : parentThreadId}</dd>
          </>
        )}
      </dl>
      <Part title="Prompt" text={prompt} />
      {feedback && <Part title="Feedback of the review" text={feedback} />}
      {result && <Part title="Result" text={result} />}
      {error && (
        <div className="failure">
          <code>{error.code}</code> {error.message}
        </div>
      )}
      {can('threads') && <Story threadId={threadId} updatedAt={task.updatedAt} />}
    </SidePanel>
  );
}

const ThreadLink = ({ id }: { id: string }) => (
  <Link to={`/threads/${id}`} className="link mono">
    {shortIdOf(id)}
  </Link>
);

const Part = ({ title, text }: { title: string; text: string }) => (
  <>
    <h3>{title}</h3>
    <JsonText value={text} label={title} />
  </>
);

/** What happened to the task, from the events of its thread. */
function Story({ threadId, updatedAt }: { threadId: string; updatedAt: string }): ReactNode {
  const { data } = useQuery({
    queryKey: ['task-story', threadId, updatedAt],
    queryFn: () => get<{ events: ThreadEvent[] }>(`/v1/threads/${threadId}/events`),
    placeholderData: (before) => before,
  });
  const lines = (data?.events ?? []).flatMap((event) => {
    const line = lineFor(event);
    return line ? [{ id: event.id, at: event.data.at, ...line }] : [];
  });
  if (lines.length === 0) return null;
  return (
    <>
      <h3>Story</h3>
      <ol className="story">
        {lines.map(({ id, at, text, tone }) => (
          <li key={id} className={tone}>
            <time dateTime={at}>{clockOf(at)}</time> {text}
          </li>
        ))}
      </ol>
    </>
  );
}

function lineFor({ type, data }: ThreadEvent): { text: string; tone: string } | undefined {
  const plain = (text: string) => ({ text, tone: '' });
  switch (type) {
    case 'task.created':
      return plain('delegated');
    case 'run.started':
      return plain(Number(data.attempt) > 1 ? `begins again, attempt ${data.attempt}` : 'a turn begins');
    case 'task.checkin':
      return plain(`checks in: ${lineOf(data.message)}`);
    case 'task.review_started':
      return plain(`review of try ${data.iteration} begins`);
    case 'task.review_ended':
      return data.verdict === 'satisfied'
        ? { text: 'accepted by the review', tone: 'tone-good' }
        : { text: `sent back: ${lineOf(data.feedback ?? data.verdict, 400)}`, tone: 'tone-warn' };
    case 'task.completed':
      return { text: 'completed', tone: 'tone-good' };
    case 'task.failed':
      return { text: 'failed', tone: 'tone-bad' };
    case 'task.cancelled':
      return { text: 'cancelled', tone: 'tone-warn' };
    default:
      return undefined;
  }
}
