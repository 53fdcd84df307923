import type { BusTask, ListedThread, Plugin, Readiness } from '@harness/contracts';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { get } from '../../lib/api.ts';
import type { Diagnostic } from '../../lib/diagnostic.ts';
import { lineOf, shortIdOf } from '../../lib/format.ts';
import { type Scope, useCan } from '../../lib/session.ts';
import { Ago } from '../../parts/ago.tsx';
import { State, type Tone } from '../../parts/state.tsx';

interface Need {
  key: string;
  tone: Tone;
  what: string;
  text: string;
  href: string;
  at?: string;
}

const everyMs = 10_000;
const dayMs = 86_400_000;
const most = 8;

/** What needs a person's attention: failed runs, dead letters, what did not load, what differs from the lock. */
export function NeedsYou(): ReactNode {
  const { needs, isPending } = useNeeds();
  return (
    <section className="panel needs" aria-label="Needs you">
      <header>
        <h2>Needs you</h2>
        {needs.length > 0 && <span className="chip tone-warn">{needs.length}</span>}
      </header>
      {needs.length === 0 ? (
        <p className="calm muted">
          {isPending
            ? 'Looking…'
            : 'Nothing: no thread ended in an error today, no dead letter, everything loaded.'}
        </p>
      ) : (
        <ul>
          {needs.slice(0, 40).map(({ key, tone, what, text, href, at }) => (
            <li key={key}>
              <Link to={href}>
                <State is={what} tone={tone} />
                <span className="cut">{text}</span>
                <span className="muted">{at && <Ago at={at} />}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function useNeed<T>(scope: Scope, path: string, needsOf: (answer: T) => Need[]) {
  const can = useCan();
  const { data, isPending } = useQuery({
    queryKey: ['needs', path],
    queryFn: () => get<T>(path),
    refetchInterval: everyMs,
    enabled: can(scope),
    select: needsOf,
  });
  return { needs: data ?? [], isPending: can(scope) && isPending };
}

/** Rounded, so that the path is the same for a while. */
const yesterday = () => new Date(Math.floor((Date.now() - dayMs) / 600_000) * 600_000).toISOString();

function useNeeds(): { needs: Need[]; isPending: boolean } {
  const all = [
    useNeed('threads', `/v1/threads?state=error&latestRun=true&limit=${most}&from=${yesterday()}`, ofThreads),
    useNeed('bus', `/v1/bus/tasks?state=dead&limit=${most}`, ofBusTasks),
    useNeed('bus', `/v1/bus/tasks?state=blocked&limit=${most}`, ofBusTasks),
    useNeed('tools', '/v1/plugins', ofPlugins),
    useNeed('tools', '/v1/skills', ofDiagnostics('Skill')),
    useNeed('threads', '/v1/agents', ofDiagnostics('Agent')),
  ];
  return { needs: all.flatMap(({ needs }) => needs), isPending: all.some(({ isPending }) => isPending) };
}

const ofThreads = ({ threads }: { threads: ListedThread[] }): Need[] =>
  threads.map(({ threadId, latestRun, updatedAt }) => ({
    key: threadId,
    tone: 'bad',
    what: 'Run failed',
    text: `${shortIdOf(threadId)}: ${lineOf(latestRun?.error ?? latestRun?.input ?? '')}`,
    href: `/threads/${threadId}`,
    at: updatedAt,
  }));

const ofBusTasks = ({ tasks }: { tasks: BusTask[] }): Need[] =>
  tasks.map(({ taskId, state, reason, updatedAt }) => ({
    key: `bus ${taskId}`,
    tone: state === 'dead' ? 'bad' : 'warn',
    what: state === 'dead' ? 'Dead letter' : 'Blocked task',
    text: `${taskId}${reason ? `: ${lineOf(reason)}` : ''}`,
    href: `/bus?state=${state}`,
    at: updatedAt,
  }));

const ofPlugins = ({ plugins, diagnostics }: { plugins: Plugin[]; diagnostics: Diagnostic[] }): Need[] => [
  ...plugins
    .filter(({ state }) => state === 'degraded' || state === 'restarting')
    .map(
      ({ name, lastCrash }): Need => ({
        key: `crash ${name}`,
        tone: 'bad',
        what: 'Plugin crashes',
        text: `${name}: ${lineOf(lastCrash ?? '')}`,
        href: '/tools?view=plugins',
      }),
    ),
  ...ofDiagnostics('Plugin')({ diagnostics }),
];

const ofDiagnostics =
  (kind: string) =>
  ({ diagnostics }: { diagnostics: Diagnostic[] }): Need[] =>
    diagnostics.slice(0, most).map(({ source, level, message }, index) => ({
      key: `${kind} ${source} ${index}`,
      tone: level === 'error' ? 'bad' : 'warn',
      what: message.includes('the tool lock')
        ? 'Tool lock'
        : `${kind} ${level === 'error' ? 'broken' : 'warning'}`,
      text: `${source}: ${lineOf(message)}`,
      href: '/tools?view=diagnostics',
    }));

/** Whether the gateway can serve; a response with status 503 has a body, too. */
export function useReadiness(): { readiness: Readiness | undefined; isAway: boolean } {
  const { data, error } = useQuery({
    queryKey: ['ready'],
    queryFn: async () => (await (await fetch('/readyz')).json()) as Readiness,
    refetchInterval: 3_000,
    retry: false,
  });
  return { readiness: data, isAway: error !== null };
}
