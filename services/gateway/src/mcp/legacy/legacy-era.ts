/**
 * MCP 2025-03-26 to 2025-11-25. Sessions are stored in Redis, so that any gateway can serve any request. A
 * request without a session id is served alone: the gateway cannot send requests to its client.
 *
 * This folder:
 *   legacy-calls.ts      serves and cancels requests
 *   legacy-protocol.ts   validates clients' results with the SDK's schemas
 *   legacy-streams.ts    SSE streams opened with GET; resumption
 *   client-requests.ts   requests to clients: elicitation, sampling, roots
 */
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '@harness/contracts';
import type { McpSession } from '@harness/dispatch';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../http/credentials/authenticate.ts';
import { sha256Of } from '../../keys/api-keys.ts';
import { checkBytes, metadataLimitOf } from '../../limits/check-bytes.ts';
import { readParams } from '../method-params.ts';
import { type Incoming, type Params, resultMessage } from '../wire/json-rpc.ts';
import { acceptedBy } from '../wire/mcp-response.ts';
import { capabilities as serverCapabilities, serverInfo } from '../wire/server-identity.ts';
import { createLegacyCalls, type LegacyDeps } from './legacy-calls.ts';
import type { InitializeResult } from './legacy-protocol.ts';

const versions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
const latest = versions[0];

/** Header with the MCP session id. */
export const sessionHeader = 'mcp-session-id';

interface Http {
  request: FastifyRequest;
  reply: FastifyReply;
  caller: Caller;
}

/** Creates the legacy era of one gateway. */
export function createLegacyEra(deps: LegacyDeps) {
  const { requests, streams, audit } = deps;
  const { mcpSessions } = deps.dispatch;
  const calls = createLegacyCalls(deps);

  const sessionOf = async (headers: IncomingHttpHeaders, caller: Caller): Promise<McpSession | undefined> => {
    const sessionId = headers[sessionHeader];
    if (typeof sessionId !== 'string') return undefined;
    const session = await mcpSessions.get(sessionId, ownerOf(caller));
    if (!session)
      throw new AppError('not_found', 'Session not found: it has ended or expired. Initialize a new one.');
    return session;
  };

  const initialize = async ({ caller, params }: { caller: Caller; params: Params }) => {
    const { protocolVersion: wanted } = readParams('initialize', params);
    const protocolVersion = versions.find((version) => version === wanted) ?? latest;
    const owner = ownerOf(caller);
    const capabilities = params.capabilities as Record<string, unknown>;
    checkBytes(capabilities, { name: 'capabilities', most: metadataLimitOf(deps.limits, caller) });
    const session = await mcpSessions.create(
      { ...owner, protocolVersion, capabilities },
      { isCounted: !caller.session },
    );
    const instructions = deps.instructionsFor(caller);
    const result: InitializeResult = {
      protocolVersion,
      capabilities: serverCapabilities,
      serverInfo,
      ...(instructions !== undefined && { instructions }),
    };
    return { session, result };
  };

  /** Records what an outside caller does with a session. Those of agents are not recorded: each run has its own. */
  const record = (
    { request, caller }: Pick<Http, 'request' | 'caller'>,
    action: string,
    sessionId: string,
  ) => {
    if (caller.session) return;
    const target = sha256Of(sessionId).toString('hex').slice(0, 16);
    audit.record({ caller: caller.principal, source: request.source, action, target, outcome: 'ok' });
  };

  return {
    /**
     * Serves a request whose session, if any, has been looked up. Never throws: errors become the response.
     */
    serve: calls.serve,
    /**
     * The session that the headers name; undefined without a header. Throws `not_found`, also for another
     * caller's.
     */
    sessionOf,
    /** Serves any message of this era. Throws `not_found` for an unknown session and `invalid_request`. */
    async post({ request, reply, caller }: Http, incoming: Incoming) {
      if (incoming.kind === 'request' && incoming.method === 'initialize') {
        const { session, result } = await initialize({ caller, params: incoming.params });
        record({ request, caller }, 'initialize', session.sessionId);
        reply.header(sessionHeader, session.sessionId);
        return reply.send(resultMessage(incoming.id, result));
      }
      const { headers } = request;
      checkVersion(headers);
      const session = await sessionOf(headers, caller);
      if (incoming.kind === 'request') {
        reply.hijack();
        return calls.serve({ headers, response: reply.raw, caller, session }, incoming);
      }
      if (incoming.kind === 'response') await requests.settle(incoming.id, incoming.message);
      else if (incoming.method === 'notifications/cancelled' && session) {
        const { requestId } = readParams(incoming.method, incoming.params);
        if (requestId !== undefined) await calls.cancel(session, requestId);
      }
      return reply.code(202).send();
    },
    /** Opens the session's notification stream or, with Last-Event-ID, resumes an interrupted one. */
    async get(request: FastifyRequest, reply: FastifyReply, caller: Caller) {
      checkVersion(request.headers);
      const session = await sessionOf(request.headers, caller);
      if (!session || !acceptsStreams(request.headers)) {
        reply.header('Allow', 'POST, DELETE');
        throw new AppError('method_not_allowed', 'A stream needs a session and "Accept: text/event-stream".');
      }
      const lastEventId = request.headers['last-event-id'];
      if (typeof lastEventId === 'string') return streams.resume(session, lastEventId, reply);
      return streams.open(session, reply);
    },
    /** Ends the session. */
    async delete(request: FastifyRequest, reply: FastifyReply, caller: Caller) {
      const session = await sessionOf(request.headers, caller);
      if (!session)
        throw new AppError('invalid_request', 'The session is not named. Send the header Mcp-Session-Id.');
      await mcpSessions.end(session);
      record({ request, caller }, 'DELETE /mcp', session.sessionId);
      return reply.code(204).send();
    },
    close: calls.close,
  };
}

/** MCP 2025-03-26 to 2025-11-25. */
export type LegacyEra = ReturnType<typeof createLegacyEra>;

const ownerOf = ({ principal }: Caller) => ({ tenant: principal.tenant, keyId: principal.keyId });
const acceptsStreams = (headers: IncomingHttpHeaders) => acceptedBy(headers) !== 'json';

/**
 * Whether the named protocol version is one of this era's. No header means 2025-03-26, which does not have
 * it.
 */
export const speaksLegacy = ({ 'mcp-protocol-version': version }: IncomingHttpHeaders): boolean =>
  version === undefined || versions.some((known) => known === version);

function checkVersion(headers: IncomingHttpHeaders): void {
  if (speaksLegacy(headers)) return;
  const version = headers['mcp-protocol-version'];
  throw new AppError(
    'invalid_request',
    `Unsupported MCP-Protocol-Version: ${String(version)}. Use one of: ${versions.join(', ')}.`,
    {
      details: { supported: versions },
    },
  );
}
