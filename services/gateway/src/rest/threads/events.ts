import { AppError } from '@harness/contracts';
import type { EventScope, Subscriber } from '@harness/dispatch';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { requireScope } from '../../http/authenticate.ts';
import { answers, refTo } from '../../openapi/schemas.ts';
import { threadParams } from './threads.ts';

const pageLimit = 200;

const after = { type: 'string', description: 'An event id; Last-Event-ID does the same and wins' };
const follow = { type: 'boolean', default: false, description: 'Stay and send what happens' };
export const eventQuery = { type: 'object', properties: { after, follow }, additionalProperties: false };

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
            next: { type: ['string', 'null'], description: 'The cursor to go on with' },
          },
          required: ['events', 'next'],
        },
      },
    },
  },
};

type EventRequest = FastifyRequest<{ Querystring: { after?: string; follow: boolean } }>;

/** Answers with the events of a scope that the caller may see: a page, a replay, or a stream. */
export function createEventDoor({ dispatch: { events }, streams }: RouteDeps) {
  return async (request: EventRequest, reply: FastifyReply, scope: EventScope) => {
    const after = request.headers['last-event-id']?.toString() ?? request.query.after;
    if (wantsJson(request.headers.accept)) {
      const found = await events.read(scope, after, pageLimit);
      return { events: found, next: found.at(-1)?.id ?? after ?? null };
    }
    const { follow } = request.query;
    return streams.send(request, reply, (subscriber) =>
      events.subscribe(scope, { after }, follow ? subscriber : onlyReplay(subscriber)),
    );
  };
}

export function addEventRoutes(app: FastifyInstance, routes: RouteDeps): void {
  const { threads } = routes.dispatch;
  const send = createEventDoor(routes);
  app.get<{
    Params: { threadId: string };
    Querystring: { after?: string; follow: boolean; children: boolean };
  }>(
    '/v1/threads/:threadId/events',
    {
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
              description: 'With the threads below this root thread',
            },
          },
        },
        response: answers(eventResponse, 400, 404, 410),
      },
    },
    async (request, reply) => {
      requireScope(request.caller, 'threads');
      const { tenant } = request.caller.principal;
      const { thread, ownId } = await threads.locate(tenant, request.params.threadId);
      const { children } = request.query;
      if (children && thread.parentThreadId) {
        throw new AppError('invalid_request', 'children=true shows a whole tree: ask its root thread.');
      }
      const scope = { threadId: ownId, shownId: thread.threadId, children };
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
