import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, get } from '../../lib/api.ts';
import { useRefresh } from '../../lib/use-refresh.ts';

const key = 'bus';

/** Interval of reads for what has no events, ms: who polls, and when a worker was seen last. */
const everyMs = 30_000;
/** Reads what is shown of the bus again when an event says that it has changed. */
export const useBusEvents = (): void => useRefresh('/v1/bus/events', key);

/** A resource of the bus, as `useBusEvents` refreshes it; while another path is read, the previous resource. */
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
