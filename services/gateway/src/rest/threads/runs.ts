/**
 * REST routes that send messages to threads, and read, stream and cancel their runs.
 *
 * This folder:
 *   threads.ts        threads
 *   list-threads.ts   lists of threads
 *   fork.ts           threads with the conversation of another one
 *   events.ts         events of a thread
 *   event-stream.ts   SSE streams, shared by runs, threads and the bus
 *   stream-tickets.ts tickets for streams that a browser opens
 *   sessions.ts       sessions of threads; prewarm
 *   commands.ts       slash commands
 *   questions.ts      answers to questions of a session
 */
import { randomUUID } from 'node:crypto';
import { AppError, CreateRun, type Run } from '@harness/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { disconnectSignalOf } from '../../http/client-disconnect.ts';
import { checkBytes, metadataLimitOf } from '../../limits/check-bytes.ts';
import { answers, boundedListOf, jsonSchemaOf, page, refTo } from '../../openapi/schemas.ts';
import { bodyLimit } from '../../server.ts';
import { acceptMessage } from '../../threads/accept-message.ts';
import { createRunFollower, isEnded, type RunFollower } from '../../threads/follow-run.ts';
import { senderOf } from '../../tools/caller-rights.ts';
import { boundedList } from '../bounded-list.ts';
import { ticketQuery } from './stream-tickets.ts';
import { threadParams } from './threads.ts';

interface ThreadRoute {
  Params: { threadId: string };
  Body: CreateRun;
  Querystring: { limit: number; offset: number; input: boolean };
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

/** The Idempotency-Key header of routes that create something. */
export const idempotencyHeader = {
  type: 'object',
  properties: {
    'idempotency-key': {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      description: 'Within 24 hours, a request with the same key has the result of the first one',
    },
  },
};

const inputQuery = {
  input: { type: 'boolean', default: false, description: 'Include the text of the message' },
};

const streamUrlOf = ({ threadId, runId }: Run) => `/v1/threads/${threadId}/runs/${runId}/stream`;
const eventStream = {
  description: 'Server-sent events',
  content: { 'text/event-stream': { schema: refTo('EventData') } },
};

/** Largest body of a message with files, bytes. */
const messageLimit = 10 * 1024 * 1024;

/** Options of the routes that take messages: only a body with files may exceed the usual limit. */
const largeForFiles = {
  bodyLimit: messageLimit,
  async preValidation({ body, headers }: FastifyRequest) {
    const files = (body as { files?: unknown } | null)?.files;
    if (files !== undefined || Number(headers['content-length'] ?? 0) <= bodyLimit) return;
    throw new AppError(
      'body_too_large',
      `The body is larger than ${bodyLimit} bytes. Send a shorter text; only "files" may be larger.`,
    );
  },
};

const tags = ['runs'];
const post = { params: threadParams, headers: idempotencyHeader, body: jsonSchemaOf(CreateRun) };

/** What the routes of runs need. */
interface RunRouteDeps extends RouteDeps {
  follower: RunFollower;
  /**
   * Accepts the request's message into the thread's mailbox. Throws like `acceptMessage`, and `forbidden`.
   */
  accept(request: FastifyRequest<ThreadRoute>): Promise<Run>;
  /** Sends the run's events as SSE, from its first event or after Last-Event-ID. */
  sendStream(request: FastifyRequest, reply: FastifyReply, run: Run): Promise<unknown>;
}

/** Adds the routes below /v1/threads/:threadId/runs. */
export function addRunRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const follower = createRunFollower(deps.dispatch);
  const runDeps: RunRouteDeps = {
    ...deps,
    follower,
    async accept(request) {
      const { caller, params, body, headers, log } = request;
      checkBytes(body.metadata, { name: 'metadata', most: metadataLimitOf(deps.limits, caller) });
      const { tenant } = caller.principal;
      const idempotencyKey = headers['idempotency-key']?.toString() ?? randomUUID();
      const message = {
        tenant,
        threadId: params.threadId,
        request: body,
        idempotencyKey,
        sender: senderOf(caller),
      };
      const filesIn = await deps.threadFiles.ofMessage(message, body.files);
      const run = await acceptMessage({ ...deps, logger: log }, { ...message, filesIn });
      deps.recordChange(request, { about: { runId: run.runId } });
      return run;
    },
    async sendStream(request, reply, run) {
      const after = request.headers['last-event-id']?.toString();
      reply.raw.setHeader('Content-Location', `/v1/threads/${run.threadId}/runs/${run.runId}`);
      const { tenant } = request.caller.principal;
      return deps.streams.send(request, reply, (subscriber) =>
        follower.subscribe({ tenant, run, after }, subscriber),
      );
    },
  };
  addCreateRoute(app, runDeps);
  addWaitRoute(app, runDeps);
  addStreamRoute(app, runDeps);
  addListRoute(app, runDeps);
  addOneRunRoutes(app, runDeps);
  addCancelRoute(app, runDeps);
}

function addCreateRoute(app: FastifyInstance, { accept }: RunRouteDeps): void {
  app.post<ThreadRoute>(
    '/v1/threads/:threadId/runs',
    {
      config: { scope: 'threads', audit: false },
      ...largeForFiles,
      schema: {
        tags,
        operationId: 'createRun',
        summary: 'Send a message to a thread',
        ...post,
        response: answers({ 202: refTo('AcceptedRun') }, 400, 404, 409, 422),
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
}

function addWaitRoute(app: FastifyInstance, { accept, follower, streams, waitLimitMs }: RunRouteDeps): void {
  app.post<ThreadRoute>(
    '/v1/threads/:threadId/runs/wait',
    {
      config: { scope: 'threads', audit: false },
      ...largeForFiles,
      schema: {
        tags,
        operationId: 'createRunAndWait',
        summary: 'Send a message and wait for its result',
        ...post,
        response: answers(
          {
            200: { description: 'The run has ended', ...refTo('Run') },
            202: { description: 'The run did not end within the time limit', ...refTo('AcceptedRun') },
          },
          400,
          404,
          409,
          422,
        ),
      },
    },
    async (request, reply) => {
      const run = await accept(request);
      const signal = AbortSignal.any([
        disconnectSignalOf(reply.raw),
        streams.closing,
        AbortSignal.timeout(waitLimitMs),
      ]);
      const { tenant } = request.caller.principal;
      const current = await follower.untilEnd({ tenant, run, signal });
      if (isEnded(current)) return current;
      return reply.code(202).send({ ...current, streamUrl: streamUrlOf(run) });
    },
  );
}

function addStreamRoute(app: FastifyInstance, { accept, sendStream }: RunRouteDeps): void {
  app.post<ThreadRoute>(
    '/v1/threads/:threadId/runs/stream',
    {
      config: { scope: 'threads', audit: false },
      ...largeForFiles,
      schema: {
        tags,
        operationId: 'createRunAndStream',
        summary: 'Send a message and stream its run',
        ...post,
        response: answers({ 200: eventStream }, 400, 404, 409, 422),
      },
    },
    async (request, reply) => sendStream(request, reply, await accept(request)),
  );
}

function addListRoute(app: FastifyInstance, { dispatch: { threads, runs } }: RunRouteDeps): void {
  app.get<ThreadRoute>(
    '/v1/threads/:threadId/runs',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'listRuns',
        summary: 'List runs, latest first',
        params: threadParams,
        querystring: { ...page, properties: { ...page.properties, ...inputQuery } },
        response: answers({ 200: boundedListOf('runs', 'Run') }, 400, 404),
      },
    },
    async (request) => {
      const { ownId } = await threads.locate(request.caller.principal.tenant, request.params.threadId);
      const { kept, ...rest } = boundedList(await runs.list(ownId, request.query));
      return { runs: kept, ...rest };
    },
  );
}

function addOneRunRoutes(app: FastifyInstance, { dispatch: { runs }, sendStream }: RunRouteDeps): void {
  const find = (request: FastifyRequest<RunRoute>) => {
    return runs.get(request.caller.principal.tenant, request.params.threadId, request.params.runId);
  };
  app.get<RunRoute>(
    '/v1/threads/:threadId/runs/:runId',
    {
      config: { scope: 'threads' },
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
      config: { scope: 'threads', tickets: true },
      schema: {
        tags,
        operationId: 'streamRun',
        summary: 'Stream a run from its beginning, or after Last-Event-ID',
        params: runParams,
        querystring: { type: 'object', properties: ticketQuery },
        response: answers({ 200: eventStream }, 404, 410),
      },
    },
    async (request, reply) => sendStream(request, reply, await find(request)),
  );
}

function addCancelRoute(app: FastifyInstance, { dispatch: { runs } }: RunRouteDeps): void {
  app.post<RunRoute>(
    '/v1/threads/:threadId/runs/:runId/cancel',
    {
      config: { scope: 'threads' },
      schema: {
        tags,
        operationId: 'cancelRun',
        summary: 'Cancel a run',
        params: runParams,
        response: answers({ 200: refTo('Run') }, 404),
      },
    },
    async (request) => {
      const { threadId, runId } = request.params;
      return runs.cancel(request.caller.principal.tenant, threadId, runId);
    },
  );
}
