import type { Run, Thread, ThreadSession } from '@harness/contracts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { get } from '../../lib/api.ts';
import { followEvents, type StreamState } from '../../lib/follow-events.ts';
import { isFinalRunEvent } from './event-kinds.ts';
import { addEvents, createFeed, cutFeed, type Feed } from './thread-feed.ts';

const inputsAtOnce = 50;

/** The events of a thread: those stored, then new ones as they happen. Its tools may ask questions, because the page shows them. */
export function useThreadFeed(threadId: string): { feed: Feed; stream: StreamState } {
  const [feed, setFeed] = useState(createFeed);
  const [stream, setStream] = useState<StreamState>({ at: 'connecting' });
  const queries = useQueryClient();
  useEffect(() => {
    let current = createFeed();
    const show = (next: Feed) => {
      current = next;
      setFeed(next);
    };
    show(current);
    return followEvents(`/v1/threads/${threadId}/events?answers=true`, {
      onEvents(events) {
        show(addEvents(current, events));
        // Resources whose content events do not carry are read again when an event reports a change.
        if (events.some(({ type }) => type === 'run.queued'))
          void queries.invalidateQueries({ queryKey: ['inputs', threadId] });
        if (events.some(({ type }) => changesThread(type)))
          void queries.invalidateQueries({ queryKey: ['thread', threadId] });
        if (events.some(({ type }) => type === 'files.changed'))
          void queries.invalidateQueries({ queryKey: ['files', threadId, 'now'] });
      },
      onState(state) {
        setStream(state);
        if (state.at === 'over' && state.error.status === 401)
          void queries.invalidateQueries({ queryKey: ['me'] });
      },
      onCut: () => show(cutFeed(current)),
      onRestart: () => show(createFeed()),
    });
  }, [threadId, queries]);
  return { feed, stream };
}

const changesThread = (type: string) =>
  type === 'run.queued' || type.startsWith('session.') || isFinalRunEvent(type);

/** The thread and its session. */
export function useThread(threadId: string) {
  const thread = useQuery({
    queryKey: ['thread', threadId],
    queryFn: () => get<Thread>(`/v1/threads/${threadId}`),
  });
  const session = useQuery({
    queryKey: ['thread', threadId, 'session'],
    queryFn: () => get<ThreadSession>(`/v1/threads/${threadId}/session`),
    refetchInterval: 15_000,
  });
  return { thread: thread.data, failure: thread.error, session: session.data };
}

/** The texts of the messages, which events do not have, by run id: of the latest runs. */
export function useInputs(threadId: string): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: ['inputs', threadId],
    queryFn: async ({ client }) => {
      const { runs } = await get<{ runs: Run[] }>(
        `/v1/threads/${threadId}/runs?input=true&limit=${inputsAtOnce}`,
      );
      const before = client.getQueryData<ReadonlyMap<string, string>>(['inputs', threadId]) ?? new Map();
      return new Map([...before, ...runs.map(({ runId, input = '' }) => [runId, input] as const)]);
    },
    structuralSharing: false,
  });
  return data ?? none;
}

const none: ReadonlyMap<string, string> = new Map();
