import { randomUUID } from 'node:crypto';
import {
  AppError,
  CreateRun,
  isFinalRunEvent,
  type Run,
  type ThreadEvent,
  toAppError,
} from '@harness/contracts';
import type { Subscriber } from '@harness/dispatch';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { requireScope } from '../../http/authenticate.ts';
import { leavingOf } from '../../http/client-disconnect.ts';
import { answers, jsonSchemaOf, listOf, page, refTo } from '../../openapi/schemas.ts';
import { acceptMessage } from '../../threads/accept-message.ts';
import { threadParams } from './threads.ts';

interface ThreadRoute {
  Params: { threadId: string };
  Body: CreateRun;
  Querystring: { limit: number; offset: number };
}
interface RunRoute {
  Params: { threadId: string; runId: string };
}

const runParams = {
  ...threadParams,
  properties: {
    ...threadParams.properties,
    runId: { type: 'string', description: 'run_ and 32 hex digits' },
  },
  required: ['threadId', 'runId'],
};

export const idempotencyHeader = {
  type: 'object',
  properties: {
    'idempotency-key': {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      description: 'A repeat with the same key is the same request, for 24 hours',
    },
  },
};

const streamUrlOf = ({ threadId, runId }: Run) => `/v1/threads/${threadId}/runs/${runId}/stream`;
const isEnded = ({ status }: Run) => status !== 'pending' && status !== 'running';
const eventStream = {
  description: 'Server-sent events',
  content: { 'text/event-stream': { schema: refTo('EventData') } },
};

export function addRunRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const { dispatch, streams } = deps;
  const { runs, threads, events } = dispatch;
  const tags = ['runs'];
  const post = { params: threadParams, headers: idempotencyHeader, body: jsonSchemaOf(CreateRun) };

  const accept = async (request: FastifyRequest<ThreadRoute>): Promise<Run> => {
    requireScope(request.caller, 'threads');
    const { threadId } = request.params;
    const { tenant } = request.caller.principal;
    const idempotencyKey = request.headers['idempotency-key']?.toString() ?? randomUUID();
    return acceptMessage(
      { ...deps, logger: request.log },
      { tenant, threadId, request: request.body, idempotencyKey, callerTools: request.caller.tools },
    );
  };
  /** The run's events from its acceptance to its end, and the mark where the replay is over. */
  const watch = async (tenant: string, run: Run, after: string | undefined, subscriber: Subscriber) => {
    const { runId } = run;
    const { ownId, thread } = await locate(tenant, run);
    // Of a run that has ended, the replay holds all there is; of another, its last event is still to come.
    const ended = isEnded(await runs.get(tenant, ownId, runId));
    const start = after === undefined ? { from: await runs.firstEventOf(runId) } : { after };
    const isOwn = (event: ThreadEvent) => event.data.runId === runId;
    const isLast = (event: ThreadEvent) =>
      isOwn(event) ? isFinalRunEvent(event.type) : ended && event.type === 'stream.replayed';
    return events.subscribe({ threadId: ownId, shownId: thread.threadId }, start, {
      take(all) {
        const last = all.findIndex(isLast);
        const known = last === -1 ? all : all.slice(0, last + 1);
        const told = known.filter((event) => isOwn(event) || event.type === 'stream.replayed');
        const busy = told.length > 0 ? subscriber.take(told) : undefined;
        if (last !== -1) subscriber.end();
        return busy;
      },
      end: subscriber.end,
    });
  };
  /** Resolves when the run has ended, or at the signal. */
  const untilEnd = async (tenant: string, run: Run, signal: AbortSignal) => {
    const ended = Promise.withResolvers<void>();
    const end = (error?: unknown) => (error === undefined ? ended.resolve() : ended.reject(error));
    const leave = await watch(tenant, run, undefined, { take: () => undefined, end });
    signal.addEventListener('abort', () => end(), { once: true });
    if (signal.aborted) end();
    await ended.promise.finally(leave);
  };
  const locate = (tenant: string, run: Run) =>
    threads.locate(tenant, run.threadId).catch((error) => {
      if (toAppError(error).code !== 'thread_not_found') throw error;
      throw new AppError('thread_not_found', `The thread ${run.threadId} has been deleted.`);
    });
  const currentOf = async (tenant: string, run: Run) => {
    const { ownId } = await locate(tenant, run);
    return runs.get(tenant, ownId, run.runId);
  };
  const sendStream = (request: FastifyRequest, reply: FastifyReply, run: Run) => {
    const after = request.headers['last-event-id']?.toString();
    reply.raw.setHeader('Content-Location', `/v1/threads/${run.threadId}/runs/${run.runId}`);
    const { tenant } = request.caller.principal;
    return streams.send(request, reply, (subscriber) => watch(tenant, run, after, subscriber));
  };

  app.post<ThreadRoute>(
    '/v1/threads/:threadId/runs',
    {
      schema: {
        tags,
        operationId: 'createRun',
        summary: 'Send a message to a thread',
        ...post,
        response: answers({ 202: refTo('AcceptedRun') }, 400, 404, 409, 422, 429),
      },
    },
    async (request, reply) => {
      const run = await accept(request);
      return reply
        .code(202)
        .header('Content-Location', `/v1/threads/${run.threadId}/runs/${run.runId}`)
        .send({ ...run, streamUrl: streamUrlOf(run) });
    },
  );

  app.post<ThreadRoute>(
    '/v1/threads/:threadId/runs/wait',
    {
      schema: {
        tags,
        operationId: 'createRunAndWait',
        summary: 'Send a message and wait for its result',
        ...post,
        response: answers(
          {
            200: { description: 'It has ended', ...refTo('Run') },
            202: { description: 'It has not ended in time', ...refTo('AcceptedRun') },
          },
          400,
          404,
          409,
          422,
          429,
        ),
      },
    },
    async (request, reply) => {
      const run = await accept(request);
      const signal = AbortSignal.any([
        leavingOf(reply.raw),
        streams.closing,
        AbortSignal.timeout(deps.waitLimitMs),
      ]);
      const { tenant } = request.caller.principal;
      await untilEnd(tenant, run, signal);
      const ended = await currentOf(tenant, run);
      if (isEnded(ended)) return ended;
      return reply.code(202).send({ ...ended, streamUrl: streamUrlOf(run) });
    },
  );

  app.post<ThreadRoute>(
    '/v1/threads/:threadId/runs/stream',
    {
      schema: {
        tags,
        operationId: 'createRunAndStream',
        summary: 'Send a message and stream its run',
        ...post,
        response: answers({ 200: eventStream }, 400, 404, 409, 422, 429),
      },
    },
    async (request, reply) => sendStream(request, reply, await accept(request)),
  );

  app.get<ThreadRoute>(
    '/v1/threads/:threadId/runs',
    {
      schema: {
        tags,
        operationId: 'listRuns',
        summary: 'List runs, latest first',
        params: threadParams,
        querystring: page,
        response: answers({ 200: listOf('runs', 'Run') }, 400, 404),
      },
    },
    async (request) => {
      requireScope(request.caller, 'threads');
      const { ownId } = await threads.locate(request.caller.principal.tenant, request.params.threadId);
      return { runs: await runs.list(ownId, request.query) };
    },
  );

  const find = (request: FastifyRequest<RunRoute>) => {
    requireScope(request.caller, 'threads');
    return runs.get(request.caller.principal.tenant, request.params.threadId, request.params.runId);
  };
  app.get<RunRoute>(
    '/v1/threads/:threadId/runs/:runId',
    {
      schema: {
        tags,
        operationId: 'getRun',
        summary: 'Get a run',
        params: runParams,
        response: answers({ 200: refTo('Run') }, 404),
      },
    },
    find,
  );
  app.get<RunRoute>(
    '/v1/threads/:threadId/runs/:runId/stream',
    {
      schema: {
        tags,
        operationId: 'streamRun',
        summary: 'Stream a run from its beginning, or after Last-Event-ID',
        params: runParams,
        response: answers({ 200: eventStream }, 404, 410),
      },
    },
    async (request, reply) => sendStream(request, reply, await find(request)),
  );
  app.post<RunRoute>(
    '/v1/threads/:threadId/runs/:runId/cancel',
    {
      schema: {
        tags,
        operationId: 'cancelRun',
        summary: 'Cancel a run',
        params: runParams,
        response: answers({ 200: refTo('Run') }, 404),
      },
    },
    async (request) => {
      requireScope(request.caller, 'threads');
      const { threadId, runId } = request.params;
      return runs.cancel(request.caller.principal.tenant, threadId, runId);
    },
  );
}
