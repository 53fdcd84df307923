import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../../app-deps.ts';
import { isLocal, requireScope } from '../../http/credentials/authenticate.ts';
import { holderOf } from '../../http/credentials/holder.ts';
import { pathOf, scopeOfStream } from '../../http/credentials/stream-tickets.ts';
import { answers } from '../../openapi/schemas.ts';

/** The query parameter of the routes that take a ticket. */
export const ticketQuery = {
  ticket: {
    type: 'string',
    description: 'A stream ticket in place of the Authorization header: see createStreamTicket',
  },
};

/** Adds POST /v1/stream-tickets. */
export function addStreamTicketRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.post<{ Body: { path: string } }>(
    '/v1/stream-tickets',
    {
      config: { audit: false },
      schema: {
        tags: ['events'],
        operationId: 'createStreamTicket',
        summary: 'Make a ticket with which a browser opens one event stream',
        description:
          'For EventSource, which cannot send a header. The ticket is valid once, for 30 s, on this path, with the rights of the caller: `new EventSource(path + "?ticket=" + ticket)`. To reconnect, make another one.',
        body: {
          type: 'object',
          properties: {
            path: {
              type: 'string',
              maxLength: 1_000,
              description:
                'Of the stream: /v1/threads/{threadId}/events, …/runs/{runId}/stream, /v1/bus/events',
            },
          },
          required: ['path'],
          additionalProperties: false,
        },
        response: answers(
          {
            201: {
              description: 'The ticket',
              type: 'object',
              properties: { ticket: { type: 'string' }, expiresAt: { type: 'string', format: 'date-time' } },
              required: ['ticket', 'expiresAt'],
            },
          },
          400,
          429,
        ),
      },
    },
    async (request, reply) => {
      const { caller } = request;
      const path = pathOf(request.body.path);
      requireScope(caller, scopeOfStream(path));
      const made = await deps.streamTickets.create(holderOf(caller, isLocal(caller)), path);
      deps.recordChange(request, { target: path });
      return reply.code(201).header('Cache-Control', 'no-store').send(made);
    },
  );
}
