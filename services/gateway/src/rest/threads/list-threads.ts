import { type ListedThread, ThreadState } from '@harness/contracts';
import type { ThreadQuery } from '@harness/dispatch';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, boundedListOf, page } from '../../openapi/schemas.ts';
import { boundedList } from '../bounded-list.ts';

const time = { type: 'string', format: 'date-time' };
const querystring = {
  ...page,
  properties: {
    ...page.properties,
    cursor: {
      type: 'string',
      maxLength: 200,
      description: 'nextCursor of the previous page; offset is then ignored',
    },
    state: { enum: [...ThreadState.options] },
    agent: { type: 'string', maxLength: 64, description: 'Name of its agent' },
    skill: { type: 'string', maxLength: 64, description: 'Name of its active skill' },
    from: { ...time, description: 'Used at this time or later' },
    to: { ...time, description: 'Used at this time or earlier' },
    q: {
      type: 'string',
      maxLength: 200,
      description: 'A text in the id, the metadata, or the beginning of the latest message or its result',
    },
    where: {
      type: 'string',
      maxLength: 300,
      pattern: '^[^=]{1,64}=',
      description: '`field=value`: the metadata has this value',
    },
    metadata: { type: 'boolean', default: false, description: 'Include the metadata of each thread' },
    latestRun: { type: 'boolean', default: false, description: 'Include the latest run of each thread' },
  },
};

interface Query {
  limit: number;
  offset: number;
  cursor?: string;
  state?: NonNullable<ThreadQuery['state']>;
  agent?: string;
  skill?: string;
  from?: string;
  to?: string;
  q?: string;
  where?: string;
  metadata: boolean;
  latestRun: boolean;
}

const list = boundedListOf('threads', 'ListedThread');
const nextCursor = {
  type: ['string', 'null'],
  description: 'Where the next page begins; null at the end. A page may be short, or empty, and have one',
};

/** Adds GET /v1/threads. */
export function addListRoute(app: FastifyInstance, { dispatch: { threads } }: RouteDeps): void {
  app.get<{ Querystring: Query }>(
    '/v1/threads',
    {
      config: { scope: 'threads' },
      schema: {
        tags: ['threads'],
        operationId: 'listThreads',
        summary: 'List threads, latest first',
        description:
          'State, agent, skill and time are found by an index. `q`, `where`, and a second one of state, agent and skill are looked for among the next 1,000 threads; nextCursor continues the search.',
        querystring,
        response: answers(
          {
            200: {
              ...list,
              properties: { ...list.properties, nextCursor },
              required: [...list.required, 'nextCursor'],
            },
          },
          400,
        ),
      },
    },
    async (request) => {
      const { query } = request;
      const { tenant } = request.caller.principal;
      const found = await threads.list(tenant, queryOf(query));
      const ids = found.threads.map(({ ownId }) => ownId);
      const latest = query.latestRun ? await threads.latestRuns(ids) : undefined;
      const listed = found.threads.map(
        ({ ownId, thread: { metadata, ...thread } }): ListedThread => ({
          ...thread,
          ...(query.metadata && { metadata }),
          ...(latest && { latestRun: latest.get(ownId) ?? null }),
        }),
      );
      const { kept, ...rest } = boundedList(listed);
      const nextCursor = rest.truncated ? (found.threads[kept.length - 1]?.cursor ?? null) : found.nextCursor;
      return { threads: kept, ...rest, nextCursor };
    },
  );
}

const msOf = (iso: string | undefined) => (iso === undefined ? undefined : Date.parse(iso));

function queryOf({ from, to, q, where, metadata: _, latestRun: __, ...query }: Query): ThreadQuery {
  const at = where?.indexOf('=') ?? -1;
  return {
    ...query,
    fromMs: msOf(from),
    toMs: msOf(to),
    text: q === '' ? undefined : q,
    field: where === undefined ? undefined : { name: where.slice(0, at), value: where.slice(at + 1) },
  };
}
