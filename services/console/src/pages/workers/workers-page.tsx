import type { WorkerInfo, WorkerSession } from '@harness/contracts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { api, get } from '../../lib/api.ts';
import { bytesOf, durationOf, numberOf, shortIdOf } from '../../lib/format.ts';
import { useCan, useMe } from '../../lib/session.ts';
import { useNow } from '../../lib/use-now.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Failure } from '../../parts/failure.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { State } from '../../parts/state.tsx';
import './workers.css';

const everyMs = 2_000;

/** The workers: their slots, the threads whose sessions they hold, and draining one. */
export default function WorkersPage(): ReactNode {
  const { data, error } = useQuery({
    queryKey: ['workers'],
    queryFn: () => get<{ workers: WorkerInfo[] }>('/v1/workers'),
    refetchInterval: everyMs,
  });
  const workers = data?.workers ?? [];
  return (
    <div className="page">
      <PageHead title="Workers" facts={<span className="muted">{data && numberOf(workers.length)}</span>} />
      <section className="page scrolls" aria-label="Workers" tabIndex={0}>
        <div className="content">
          {error && <Failure error={error} />}
          {data && workers.length === 0 && (
            <p className="empty">
              <strong>No worker is running</strong>Messages wait until one does: `npm start -- --workers 3`,
              or `docker compose up --scale worker=3`.
            </p>
          )}
          {workers.map((worker) => (
            <Worker key={worker.workerId} worker={worker} />
          ))}
        </div>
      </section>
    </div>
  );
}

function Worker({ worker }: { worker: WorkerInfo }): ReactNode {
  const queries = useQueryClient();
  const {
    workerId,
    draining,
    maxSessions,
    sessions,
    busy,
    spares,
    turns,
    paths,
    evicted,
    transcriptErrors,
    rssBytes,
  } = worker;
  const drain = async () => {
    await api('POST', `/v1/workers/${workerId}/drain`);
    await queries.invalidateQueries({ queryKey: ['workers'] });
  };
  const idle = Math.max(0, sessions - busy - spares);
  const free = Math.max(0, maxSessions - sessions);
  const slots = Object.entries({ busy, warm: idle, spare: spares, free }).flatMap(([kind, count]) =>
    Array.from({ length: count }, (_, i) => ({ kind, key: `${kind} ${i}` })),
  );
  return (
    <article className="panel">
      <header>
        <h2 className="mono">{shortIdOf(workerId)}</h2>
        <State
          is={draining ? 'draining' : busy > 0 ? 'busy' : 'ready'}
          label={draining ? 'Draining' : busy > 0 ? 'Working' : 'Ready'}
        />
        <span className="muted">
          process {worker.pid}, up <Ago at={worker.startedAt} />
        </span>
        <span className="grow" />
        <ActionButton
          kind="danger"
          disabled={draining}
          onAct={drain}
          confirm="Let this worker finish its turns and exit? Its warm sessions go with it."
        >
          Drain
        </ActionButton>
      </header>
      <div className="body worker">
        <div
          className="slots"
          role="img"
          aria-label={`${busy} busy, ${idle} idle, ${spares} spare of ${maxSessions} sessions`}
        >
          {slots.map(({ key, kind }) => (
            <span key={key} className={`slot ${kind}`} />
          ))}
        </div>
        <dl className="facts">
          <dt>Sessions</dt>
          <dd>
            {busy} busy, {idle} idle, {spares} spare, {free} free
          </dd>
          <dt>Turns</dt>
          <dd>
            {numberOf(turns)}{' '}
            <span className="muted">
              {Object.entries(paths)
                .map(([path, count]) => `${path} ${numberOf(count ?? 0)}`)
                .join(' · ')}
            </span>
          </dd>
          <dt>Memory</dt>
          <dd>
            {bytesOf(rssBytes)} <span className="muted">of the worker itself</span>
          </dd>
          {evicted > 0 && (
            <>
              <dt>Evicted</dt>
              <dd>
                {numberOf(evicted)}{' '}
                <span className="muted">idle sessions, for threads that needed their slots</span>
              </dd>
            </>
          )}
          {transcriptErrors > 0 && (
            <>
              <dt>Trouble</dt>
              <dd className="tone-warn">{numberOf(transcriptErrors)} transcripts could not be written</dd>
            </>
          )}
        </dl>
        <Sessions workerId={workerId} />
      </div>
    </article>
  );
}

function Sessions({ workerId }: { workerId: string }): ReactNode {
  const can = useCan();
  const { data: me } = useMe();
  const { data } = useQuery({
    queryKey: ['workers', workerId, 'sessions'],
    queryFn: () => get<{ sessions: WorkerSession[] }>(`/v1/workers/${workerId}/sessions`),
    refetchInterval: everyMs,
  });
  const now = useNow();
  const held = (data?.sessions ?? []).filter(({ state }) => state !== 'cold');
  if (held.length === 0) return <p className="muted">No thread has its session here.</p>;
  return (
    <ul className="sessions" aria-label="Sessions by thread">
      {held.map(({ tenant, threadId, state, path, expiresAt }) => (
        <li key={`${tenant} ${threadId}`}>
          <State is={state} />
          {tenant === me?.tenant && can('threads') ? (
            <Link to={`/threads/${threadId}`} className="link mono cut">
              {shortIdOf(threadId)}
            </Link>
          ) : (
            <span className="mono cut">
              {shortIdOf(threadId)} <span className="muted">{tenant}</span>
            </span>
          )}
          <span className="muted">{path ?? ''}</span>
          <span className="muted">
            {expiresAt && `ends in ${durationOf(Math.max(0, Date.parse(expiresAt) - now))}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
