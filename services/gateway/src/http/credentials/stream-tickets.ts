/**
 * Stream tickets: a browser's EventSource cannot send a credential, so a page gets a ticket for one stream, which it sends in
 * the URL. A ticket is valid once, for 30 s, on one path, with the rights of the credential that made it.
 */
import { AppError } from '@harness/contracts';
import type { Tickets } from '@harness/dispatch';
import type { FastifyRequest } from 'fastify';
import { type Holder, nameOfHolder } from './holder.ts';
import type { Scope } from './scopes.ts';

/** A ticket as a request presents it. */
export interface PresentedTicket {
  ticket: string;
  /** The path of the request, without its query. */
  path: string;
}

/** Makes and redeems tickets. */
export interface StreamTickets {
  /** Throws `invalid_request` for a path that is no stream, and `limit_reached`. */
  create(holder: Holder, path: string): Promise<{ ticket: string; expiresAt: string }>;
  /** The holder; undefined for a ticket that is used, expired, unknown, or for another path. It cannot be used again. */
  redeem(presented: PresentedTicket): Promise<Holder | undefined>;
}

const ttlMs = 30_000;

const streams: [path: RegExp, scope: Scope][] = [
  [/^\/v1\/threads\/[^/]+\/events$/, 'threads'],
  [/^\/v1\/threads\/[^/]+\/runs\/[^/]+\/stream$/, 'threads'],
  [/^\/v1\/bus\/events$/, 'bus'],
];

/** A path without its query. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';

/** The ticket in a request's URL. */
export function ticketOf({ url, query }: FastifyRequest): PresentedTicket | undefined {
  const { ticket } = query as { ticket?: unknown };
  return typeof ticket === 'string' ? { ticket, path: pathOf(url) } : undefined;
}

/** The scope that a stream needs. Throws `invalid_request` for a path that is no stream. */
export function scopeOfStream(path: string): Scope {
  const scope = streams.find(([pattern]) => pattern.test(path))?.[1];
  if (!scope)
    throw new AppError(
      'invalid_request',
      'Tickets are for event streams: /v1/threads/{threadId}/events, /v1/threads/{threadId}/runs/{runId}/stream, /v1/bus/events.',
    );
  return scope;
}

/** Creates stream tickets on the one-time tickets that all gateways share. */
export const createStreamTickets = (tickets: Tickets): StreamTickets => ({
  async create(holder, path) {
    const expiresAt = new Date(Date.now() + ttlMs).toISOString();
    const ticket = await tickets.create({ holder: nameOfHolder(holder), content: { holder, path }, ttlMs });
    return { ticket, expiresAt };
  },
  async redeem({ ticket, path }) {
    const content = (await tickets.redeem(ticket)) as { holder: Holder; path: string } | undefined;
    return content?.path === path ? content.holder : undefined;
  },
});
