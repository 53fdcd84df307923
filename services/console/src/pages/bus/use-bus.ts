import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, get } from '../../lib/api.ts';

const key = 'bus';

/** What a resource of the bus is, again and again; while another path is read, what the one before was. */
export const useBus = <T>(path: string): UseQueryResult<T> =>
  useQuery({
    queryKey: [key, path],
    queryFn: () => get<T>(path),
    refetchInterval: 2_000,
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
