import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AddressOf } from '../http/client-address.ts';
import type { Caller } from '../http/credentials/authenticate.ts';
import { type Audit, isRecorded, isRefusal } from './audit.ts';
import { type AuditSource, auditSource } from './audit-source.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The request as the audit names it. */
    source: AuditSource;
  }
  interface FastifyContextConfig {
    /** false: success is recorded by the route itself, or is no change. */
    audit?: boolean;
  }
}

/** Records a change as soon as it has happened. */
export type RecordChange = (request: FastifyRequest, change: Change) => void;

/** What the request itself does not contain. */
export interface Change {
  /** What was changed or created. Default: the last id in the path. */
  target?: string | undefined;
  /** Default: `ok`. */
  outcome?: string | undefined;
  /** Further fields for standard output and the file. */
  about?: object | undefined;
}

/** What the records are made with. */
export interface RequestAuditDeps {
  audit: Audit;
  addressOf: AddressOf;
  /** The caller of a request that was refused after it was authenticated. */
  callerOf(request: IncomingMessage): Caller | undefined;
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Records every request that changed something or was refused, when its response begins. Routes with `audit: false` call the
 * returned function instead: those that respond with a stream, that may change nothing, or whose path does not name what
 * they create.
 */
export function auditRequests(
  app: FastifyInstance,
  { audit, addressOf, callerOf }: RequestAuditDeps,
): RecordChange {
  app.decorateRequest('source', null as unknown as AuditSource);
  app.addHook('onRequest', (request, _reply, done) => {
    request.source = { address: addressOf(request.raw), requestId: request.id };
    done();
  });
  // After the body has been read: its events run outside of the scope of earlier hooks.
  app.addHook('preHandler', (request, _reply, done) => auditSource.run(request.source, done));
  const record: RecordChange = (request, { target, outcome = 'ok', about }) => {
    audit.record(
      {
        caller: (request.caller ?? callerOf(request.raw))?.principal,
        source: request.source,
        action: operationOf(request),
        target: target ?? targetOf(request.params),
        outcome,
      },
      about,
    );
  };
  // biome-ignore lint/complexity/useMaxParams: the library's signature
  app.addHook('onSend', (request, _reply, payload, done) => {
    const { error: outcome = 'ok', isRecorded: isDone } = request.source;
    const { audit: isAutomatic = true } = request.routeOptions.config;
    const isDue =
      outcome === 'ok'
        ? isChange(request) && isAutomatic
        : isRefused(request, outcome) || (isChange(request) && isRecorded(outcome));
    if (isDue && !isDone) record(request, { outcome });
    done(null, payload);
  });
  return record;
}

/** The name of a route: its operationId, else method and path. */
const operationOf = ({ method, routeOptions: { schema, url } }: FastifyRequest): string =>
  schema?.operationId ?? `${method} ${url ?? 'unknown'}`;

const isChange = ({ method, routeOptions: { schema } }: FastifyRequest): boolean =>
  !safeMethods.has(method) && schema?.operationId !== undefined;

/** An MCP session that the caller does not have may be another caller's. */
const isRefused = ({ routeOptions: { url } }: FastifyRequest, outcome: string): boolean =>
  isRefusal(outcome) || (url === '/mcp' && outcome === 'not_found');

/** The most specific id in the path. */
function targetOf(params: unknown): string | undefined {
  const ids = Object.values((params ?? {}) as Record<string, string>);
  return ids.at(-1);
}
