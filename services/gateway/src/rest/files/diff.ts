import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import type { ThreadRef } from '../../files/thread-files.ts';
import { answers } from '../../openapi/schemas.ts';
import { threadParams } from '../threads/threads.ts';
import { attach } from './file-headers.ts';

interface DiffRoute {
  Params: { threadId: string };
  Querystring: { from?: string; to?: string };
}

const version = {
  type: 'string',
  pattern: '^(run_[0-9a-f]{32}|[0-9a-f]{64})$',
};

/** Runs among which the one before a run is looked for. */
const latestRuns = 200;

/** Adds GET /v1/threads/:threadId/diff. */
export function addDiffRoute(app: FastifyInstance, { threadFiles, dispatch }: RouteDeps): void {
  const { runs, threads } = dispatch;
  /** The run before one, or before the latest one that has ended; undefined: there is none. */
  const runBefore = async ({ tenant, threadId }: ThreadRef, runId: string | undefined) => {
    const { ownId } = await threads.locate(tenant, threadId);
    const ended = (await runs.list(ownId, { limit: latestRuns, offset: 0 })).filter(({ endedAt }) => endedAt);
    const at = runId === undefined ? 0 : ended.findIndex((run) => run.runId === runId);
    return at < 0 ? undefined : ended[at + 1]?.runId;
  };
  app.get<DiffRoute>(
    '/v1/threads/:threadId/diff',
    {
      config: { scope: 'threads' },
      schema: {
        tags: ['files'],
        operationId: 'diffFiles',
        summary: 'What differs between two versions of a thread’s files, as a unified diff',
        description:
          'Of text files; others are named. Without `from`: since the run before `to`, or before the latest run. At most 500,000 characters; a last line says how many files are left out.',
        params: threadParams,
        querystring: {
          type: 'object',
          properties: {
            from: { ...version, description: 'The files after this run, or the version of this digest' },
            to: { ...version, description: 'The same; default: the files as they are now' },
          },
          additionalProperties: false,
        },
        response: answers(
          {
            200: {
              description: 'Unified diff; empty where nothing differs',
              content: { 'text/x-diff': { schema: { type: 'string' } } },
            },
          },
          404,
          422,
        ),
      },
    },
    async ({ caller, params, query }, reply) => {
      const thread = { tenant: caller.principal.tenant, threadId: params.threadId };
      const to =
        query.to === undefined ? await threadFiles.at(thread) : await threadFiles.named(thread, query.to);
      const ofRun = query.to?.startsWith('run_') === false ? undefined : query.to;
      const since = query.from ?? (await runBefore(thread, ofRun));
      const from = since === undefined ? undefined : (await threadFiles.named(thread, since)).version;
      attach(reply, { name: `${params.threadId}.diff` }).type('text/x-diff; charset=utf-8');
      if (to.version === undefined || to.version === from) return '';
      const { text, omitted } = await to.store.diff(from, to.version);
      return omitted === 0 ? text : `${text}# ${omitted} more files differ\n`;
    },
  );
}
