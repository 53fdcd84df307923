import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { followEvents, type StreamState } from './follow-events.ts';

/** Shortest time between two readings that events cause, ms. */
const pauseMs = 250;
/** The stream begins this long before the page, ms: the clocks of browser and Redis may differ. */
const earlierMs = 60_000;

/** Follows the event stream at a path, and reads all queries under `key` again when an event arrives. No path: follows nothing. */
export function useRefresh(path: string | undefined, key: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (path === undefined) return undefined;
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
    return followEvents(path, follower, `${Date.now() - earlierMs}-0`);
  }, [queries, path, key]);
}
