import type { ServerResponse } from 'node:http';
import { AppError } from '@harness/contracts';
import type { EventScope, Subscriber } from '@harness/dispatch';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { answers, refTo } from '../../openapi/schemas.ts';
import { boundedList } from '../bounded-list.ts';
import { ticketQuery } from './stream-tickets.ts';
import { threadParams } from './threads.ts';

const pageLimit = 200;
/** How often attendance is renewed, ms: less than half of the time for which it is valid. */
const attendEveryMs = 8_000;

const after = { type: 'string', description: 'An event id; the header Last-Event-ID has precedence' };
const follow = { type: 'boolean', default: false, description: 'Keep the stream open and send new events' };
/** The query of routes that send events. */
export const eventQuery = {
  type: 'object',
  properties: { after, follow, ...ticketQuery },
  additionalProperties: false,
};

/** The 200 response of those routes. */
export const eventResponse = {
  200: {
    description: 'Events',
    content: {
      'text/event-stream': { schema: refTo('EventData') },
      'application/json': {
        schema: {
          type: 'object',
          properties: {
            events: { type: 'array', items: refTo('Event') },
            next: { type: ['string', 'null'], description: 'The cursor of the next page' },
          },
          required: ['events', 'next'],
        },
      },
    },
  },
};

type EventRequest = FastifyRequest<{ Querystring: { after?: string; follow: boolean } }>;

/**
 * Creates the handler that sends the events of a scope: a JSON page, the stored events as SSE, or with
 * `follow` a live stream. The route must check that the caller may see the scope.
 */
export function createEventRoute({ dispatch: { events }, streams }: RouteDeps) {
  return async (request: EventRequest, reply: FastifyReply, scope: EventScope) => {
    const after = request.headers['last-event-id']?.toString() ?? request.query.after;
    if (wantsJson(request.headers.accept)) {
      const { kept } = boundedList(await events.read(scope, after, pageLimit));
      return { events: kept, next: kept.at(-1)?.id ?? after ?? null };
    }
    const { follow } = request.query;
    return streams.send(request, reply, (subscriber) =>
      events.subscribe(scope, { after }, follow ? subscriber : onlyReplay(subscriber)),
    );
  };
}

/** Adds GET /v1/threads/:threadId/events. */
export function addEventRoutes(app: FastifyInstance, routes: RouteDeps): void {
  const { threads } = routes.dispatch;
  const send = createEventRoute(routes);
  /** Until the client disconnects, questions of the thread are asked; not if it has already. */
  const attendWhile = (raw: ServerResponse, ownId: string) => {
    if (raw.destroyed) return;
    const attend = () =>
      void routes.dispatch.questions
        .attend(ownId)
        .catch((error) => routes.logger.debug({ err: error }, 'attendance not renewed'));
    attend();
    const timer = setInterval(attend, attendEveryMs);
    raw.once('close', () => clearInterval(timer));
  };
  app.get<{
    Params: { threadId: string };
    Querystring: { after?: string; follow: boolean; children: boolean; answers: boolean };
  }>(
    '/v1/threads/:threadId/events',
    {
      config: { scope: 'threads', tickets: true },
      schema: {
        tags: ['events'],
        operationId: 'getThreadEvents',
        summary: 'Events of a thread: SSE, or a JSON page with Accept: application/json',
        params: threadParams,
        querystring: {
          ...eventQuery,
          properties: {
            ...eventQuery.properties,
            children: {
              type: 'boolean',
              default: false,
              description: 'Include the threads below this root thread',
            },
            answers: {
              type: 'boolean',
              default: false,
              description:
                'With follow: this client answers questions of tools (event agent.question; see answerQuestion)',
            },
          },
        },
        response: answers(eventResponse, 400, 404, 410),
      },
    },
    async (request, reply) => {
      const { tenant } = request.caller.principal;
      const { thread, ownId } = await threads.locate(tenant, request.params.threadId);
      const { children } = request.query;
      if (children && thread.parentThreadId) {
        throw new AppError(
          'invalid_request',
          'children=true works on a root thread only. Use the root of this thread, or leave children out.',
        );
      }
      const scope = { threadId: ownId, shownId: thread.threadId, children };
      const { answers, follow } = request.query;
      if (answers && follow) attendWhile(reply.raw, ownId);
      return send(request as EventRequest, reply, scope);
    },
  );
}

const onlyReplay = (subscriber: Subscriber): Subscriber => ({
  take(events) {
    const busy = subscriber.take(events);
    if (events[0]?.type === 'stream.replayed') subscriber.end();
    return busy;
  },
  end: subscriber.end,
});

const wantsJson = (accept: string | undefined) => accept !== undefined && /^application\/json\b/.test(accept);
