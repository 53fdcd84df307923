import type { ListedThread } from '@harness/contracts';
import { useInfiniteQuery } from '@tanstack/react-query';
import { get, withQuery } from '../../lib/api.ts';

/** What the list of threads is filtered by; all of it is in the address of the page. */
export interface ThreadFilter {
  state?: string;
  agent?: string;
  skill?: string;
  /** Used in the last so many hours. */
  hours?: number;
  /** In its id, its metadata, or its latest message and result. */
  q?: string;
  /** `field=value`: the metadata has this value. */
  where?: string;
}

interface ThreadList {
  threads: ListedThread[];
  nextCursor: string | null;
}

const hourMs = 3_600_000;
const pageSize = 100;

/** The threads that fit a filter, latest first, page by page; the first pages follow what happens. */
export function useThreads({ hours, ...filter }: ThreadFilter) {
  return useInfiniteQuery({
    queryKey: ['threads', filter, hours],
    queryFn: ({ pageParam, signal }) => {
      const from = hours === undefined ? undefined : new Date(Date.now() - hours * hourMs).toISOString();
      const query = { ...filter, from, cursor: pageParam, limit: pageSize, latestRun: true };
      return get<ThreadList>(withQuery('/v1/threads', query), signal);
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 2 ? false : 3_000),
    placeholderData: (before) => before,
  });
}

/** Names for a filter. */
export const namesOf = (items: readonly { name: string }[] | undefined): string[] =>
  (items ?? []).map(({ name }) => name).sort();
