import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, get } from '../../lib/api.ts';
import { followEvents, type StreamState } from '../../lib/follow-events.ts';

const key = 'bus';

/** What events do not tell is read this often, ms: who polls, and when a worker was seen last. */
const everyMs = 30_000;
/** Two readings after events are at least this far apart, ms. */
const pauseMs = 250;
/** The stream begins this long before the page, ms: the clocks of browser and Redis may differ. */
const earlierMs = 60_000;

/** Reads what is shown of the bus again when an event says that it has changed. */
export function useBusEvents(): void {
  const queries = useQueryClient();
  useEffect(() => {
    let [isStale, isReading] = [false, false];
    const refresh = async () => {
      isStale = true;
      if (isReading) return;
      isReading = true;
      while (isStale) {
        isStale = false;
        await queries.invalidateQueries({ queryKey: [key] });
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      isReading = false;
    };
    const follower = {
      onEvents: () => void refresh(),
      onState(state: StreamState) {
        if (state.at === 'over' && state.error.status === 401)
          void queries.invalidateQueries({ queryKey: ['me'] });
      },
      onCut: () => undefined,
      onRestart: () => void refresh(),
    };
    return followEvents('/v1/bus/events', follower, `${Date.now() - earlierMs}-0`);
  }, [queries]);
}

/** What a resource of the bus is, as `useBusEvents` refreshes it; while another path is read, what the one before was. */
export const useBus = <T>(path: string): UseQueryResult<T> =>
  useQuery({
    queryKey: [key, path],
    queryFn: () => get<T>(path),
    refetchInterval: everyMs,
    placeholderData: (before) => before,
  });

/** Changes the bus with a POST, and reads again what is shown of it. Throws ApiError. */
export function useBusAction(): (path: string) => Promise<void> {
  const queries = useQueryClient();
  return async (path) => {
    await api('POST', path);
    await queries.invalidateQueries({ queryKey: [key] });
  };
}
