/**
 * The page of one thread, live.
 *
 * This folder:
 *   thread-feed.ts    events as rows of a conversation, and turns
 *   use-thread.ts     reads the thread, its session and its events
 *   conversation.tsx  the conversation
 *   composer.tsx      writes messages and commands
 *   send-message.ts   sends a message exactly once
 *   use-completion.ts what a line with a slash may become
 *   open-questions.ts questions that are not answered yet
 *   question-form.tsx a form for a question
 *   turn.ts           when a run did what
 *   turn-list.tsx     every turn with its times
 *   waterfall.tsx     the times of one turn
 *   event-log.tsx     the raw events
 *   event-kinds.ts    the types of events
 *   files/            the thread's files
 */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, memo, type ReactNode, Suspense } from 'react';
import { api } from '../../lib/api.ts';
import type { StreamState } from '../../lib/follow-events.ts';
import { shortIdOf } from '../../lib/format.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Failure } from '../../parts/failure.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Chip, State, toneOf } from '../../parts/state.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { Composer } from './composer.tsx';
import { Conversation } from './conversation.tsx';
import { EventLog } from './event-log.tsx';
import './thread.css';
import './turns.css';
import './files/files.css';
import type { FilesPlace } from './files/files-view.tsx';
import { QuestionForm } from './question-form.tsx';
import type { Feed } from './thread-feed.ts';
import { TurnList } from './turn-list.tsx';
import { useThread, useThreadFeed } from './use-thread.ts';

const FilesView = lazy(() => import('./files/files-view.tsx'));

const tabs = [
  ['conversation', 'Conversation'],
  ['turns', 'Turns'],
  ['files', 'Files'],
  ['events', 'Events'],
] as const;
type Tab = (typeof tabs)[number][0];

/** The address names the tab, and what is shown of the files. */
interface ThreadSearch extends FilesPlace {
  view?: Tab;
}

/** One thread, live. */
export default function ThreadPage(): ReactNode {
  const { threadId = '' } = useParams({ strict: false });
  return <OneThread key={threadId} threadId={threadId} />;
}

function OneThread({ threadId }: { threadId: string }): ReactNode {
  const { view: tab = 'conversation', ...place } = useSearch({ strict: false }) as ThreadSearch;
  const navigate = useNavigate();
  const go = (search: ThreadSearch, replace: boolean) => void navigate({ to: '.', search, replace });
  const { feed, stream } = useThreadFeed(threadId);
  const open = [...feed.turns.values()].filter(({ endedAt }) => !endedAt).map(({ runId }) => runId);
  return (
    <div className="page">
      <Head threadId={threadId} openRuns={open.join(' ')} />
      <StreamBanner state={stream} />
      <Tabs<Tab>
        label="Views of the thread"
        tabs={tabs}
        value={tab}
        onChange={(view) => go(view === 'conversation' ? {} : { view }, true)}
      >
        {tab === 'conversation' && (
          <Conversation threadId={threadId} feed={feed} isReplaying={isReplaying(stream, feed)} />
        )}
        {tab === 'turns' && <TurnList turns={feed.turns} />}
        {tab === 'files' && (
          <Suspense fallback={<div className="empty">Reading the files…</div>}>
            <FilesView
              threadId={threadId}
              changes={feed.changes}
              turns={feed.turns}
              place={place}
              onGo={(next) => go({ view: 'files', ...next }, false)}
            />
          </Suspense>
        )}
        {tab === 'events' && <EventLog events={feed.log} />}
      </Tabs>
      {[...feed.questions.values()].map((question) => (
        <QuestionForm key={question.questionId} threadId={threadId} question={question} />
      ))}
      <Composer threadId={threadId} isBusy={open.length > 0} />
    </div>
  );
}

const up = { name: 'Threads', href: '/threads' };

/** What the thread is, and what can be done with it. `openRuns`: ids of runs that have not ended, oldest first. */
const Head = memo(function Head({ threadId, openRuns }: { threadId: string; openRuns: string }): ReactNode {
  const { thread, failure, session } = useThread(threadId);
  if (failure && !thread)
    return (
      <>
        <PageHead title={threadId} up={up} />
        <Failure error={failure} />
      </>
    );
  const [running, ...waiting] = openRuns.split(' ').filter(Boolean);
  return (
    <PageHead
      title={threadId}
      up={up}
      facts={
        <>
          {thread && <State is={thread.state} />}
          {thread?.agent && <Chip>agent {thread.agent}</Chip>}
          {thread?.skill && <Chip>skill {thread.skill}</Chip>}
          {thread?.model && <Chip>{thread.model}</Chip>}
          {session && (
            <Chip
              tone={toneOf(session.state)}
              title={session.workerId ? `On worker ${session.workerId}` : undefined}
            >
              session {session.state}
              {session.workerId && ` on ${shortIdOf(session.workerId)}`}
            </Chip>
          )}
        </>
      }
    >
      <Actions threadId={threadId} running={running} waiting={waiting} />
    </PageHead>
  );
});

const isReplaying = ({ at }: StreamState, { rows }: Feed) =>
  (at === 'connecting' || at === 'replaying') && rows.length === 0;

function StreamBanner({ state }: { state: StreamState }): ReactNode {
  if (state.at === 'waiting')
    return (
      <div className="banner" role="status">
        {state.error} Nothing is lost: the stream continues where it stopped.
      </div>
    );
  if (state.at === 'over')
    return (
      <div className="banner tone-bad" role="alert">
        The events cannot be read: {state.error.message}
      </div>
    );
  return null;
}

function Actions(props: {
  threadId: string;
  running: string | undefined;
  waiting: readonly string[];
}): ReactNode {
  const { threadId, running, waiting } = props;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const path = `/v1/threads/${threadId}`;
  const prewarm = async () => {
    await api('POST', `${path}/prewarm`);
    await queries.invalidateQueries({ queryKey: ['thread', threadId] });
  };
  const cancel = (runIds: readonly string[]) =>
    Promise.all(runIds.map((runId) => api('POST', `${path}/runs/${runId}/cancel`)));
  const remove = async () => {
    await api('DELETE', path);
    await navigate({ to: '/threads' });
  };
  return (
    <>
      {running && (
        <ActionButton onAct={() => cancel([running])} title="End the run that is in progress">
          Stop the run
        </ActionButton>
      )}
      {waiting.length > 0 && (
        <ActionButton onAct={() => cancel(waiting)}>Cancel {waiting.length} waiting</ActionButton>
      )}
      <ActionButton
        onAct={prewarm}
        done="A worker starts the session."
        title="Start the session before the next message"
      >
        Prewarm
      </ActionButton>
      <ActionButton
        kind="danger"
        onAct={remove}
        confirm={`Delete ${threadId}, its runs and events, and every thread below it?`}
      >
        Delete
      </ActionButton>
    </>
  );
}
