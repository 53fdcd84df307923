/**
 * MCP 2025-03-26 to 2025-11-25. Sessions are stored in Redis, so that any gateway can serve any request. A
 * request without a session id is served by itself, and the client cannot be asked anything.
 *
 * This folder:
 *   legacy-protocol.ts   validates params and results with the SDK's schemas
 *   legacy-streams.ts    SSE streams opened with GET; resumption
 *   client-requests.ts   requests to clients: elicitation, sampling, roots
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { AppError } from '@harness/contracts';
import type { Dispatch, McpSession } from '@harness/dispatch';
import { type InputRequired, isInputRequired, type LogLevel } from '@harness/plugin-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../http/authenticate.ts';
import { leavingOf } from '../../http/client-disconnect.ts';
import type { ToolCalls } from '../../tools/tool-calls.ts';
import type { McpRequest, MethodResult, Methods } from '../methods.ts';
import {
  errorMessage,
  faultOf,
  type Incoming,
  type Params,
  type RequestId,
  type RpcError,
  resultMessage,
  rpcCodes,
  toolListMessage,
} from '../wire/json-rpc.ts';
import { type Answer, type Answers, acceptedBy } from '../wire/mcp-response.ts';
import { capabilities, serverInfo } from '../wire/server-identity.ts';
import type { ClientRequests } from './client-requests.ts';
import { checkParams, type InitializeResult, readParams } from './legacy-protocol.ts';
import type { LegacyStreams } from './legacy-streams.ts';

const versions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
const latest = versions[0];
/** From this version on, streams begin with an event id, and clients can resume them. */
const resumableSince = '2025-11-25';
/** Most rounds of questions in one call. */
const maxRounds = 10;

/** Header with the MCP session id. */
export const sessionHeader = 'mcp-session-id';

/** What this era needs. */
export interface LegacyDeps {
  dispatch: Dispatch;
  tools: ToolCalls;
  methods: Methods;
  requests: ClientRequests;
  streams: LegacyStreams;
  answers: Answers;
}

interface Http {
  request: FastifyRequest;
  reply: FastifyReply;
  caller: Caller;
}

interface Exchange {
  headers: IncomingHttpHeaders;
  response: ServerResponse;
  caller: Caller;
  session: McpSession | undefined;
}

/** Creates the legacy era of one gateway. */
export function createLegacyEra({ dispatch, tools, methods, requests, streams, answers }: LegacyDeps) {
  const { mcpSessions } = dispatch;
  /** Calls in progress at this gateway, by `<sessionId>:<request id>`. */
  const running = new Map<string, AbortController>();
  const stop = dispatch.replicas.onSignal((signal) => {
    if (signal.kind === 'cancel') running.get(signal.call)?.abort(cancelled());
  });

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
    const session = await mcpSessions.create({
      ...ownerOf(caller),
      protocolVersion,
      capabilities: params.capabilities as Record<string, unknown>,
    });
    const result: InitializeResult = { protocolVersion, capabilities, serverInfo };
    return { session, result };
  };

  /** Methods that only this era has; they need a session. */
  const inSession: Record<string, (session: McpSession, params: Params) => Promise<object>> = {
    async 'logging/setLevel'({ sessionId }, params) {
      await mcpSessions.setLogLevel(sessionId, readParams('logging/setLevel', params).level);
      return {};
    },
    async 'resources/subscribe'({ sessionId }, params) {
      await mcpSessions.subscribe(sessionId, readParams('resources/subscribe', params).uri);
      return {};
    },
    async 'resources/unsubscribe'({ sessionId }, params) {
      await mcpSessions.unsubscribe(sessionId, readParams('resources/unsubscribe', params).uri);
      return {};
    },
  };

  const perform = async (
    { caller, session }: Exchange,
    incoming: { id: RequestId; method: string; params: Params },
    { answer, signal }: { answer: Answer; signal: AbortSignal },
  ): Promise<object> => {
    const { method, params } = incoming;
    if (method === 'ping') return {};
    const special = inSession[method];
    if (special && session) return special(session, params);
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!run) throw new AppError('method_not_allowed', `There is no method "${method}".`);
    checkParams(method, params);
    const request: McpRequest = {
      caller,
      params,
      signal,
      capabilities: session?.capabilities ?? {},
      logLevel: (session?.logLevel ?? 'info') as LogLevel,
      notify: (name, notified) => answer.send({ jsonrpc: '2.0', method: name, params: notified }),
      releaseStream: answer.release,
    };
    const ask = (question: InputRequired) => askAll(question, requests, { send: answer.send, signal });
    return untilAnswered(run, request, ask);
  };

  const serve = async (exchange: Exchange, incoming: Extract<Incoming, { kind: 'request' }>) => {
    const { headers, response, caller, session } = exchange;
    const { id } = incoming;
    const call = session && `${session.sessionId}:${id}`;
    const abort = new AbortController();
    if (call) running.set(call, abort);
    const resumable = session !== undefined && session.protocolVersion >= resumableSince;
    const answer = answers.begin({
      response,
      accepts: acceptedBy(headers),
      log: resumable ? streams.logOf(session.sessionId, id) : undefined,
    });
    // Without a session the client cannot resume, so a disconnect cancels the call.
    const signal = session ? abort.signal : leavingOf(response);
    try {
      if (incoming.method === 'tools/list') return answer.end(toolListMessage(id, tools.listBytes(caller)));
      answer.end(resultMessage(id, await perform(exchange, incoming, { answer, signal })));
    } catch (thrown) {
      answer.end(errorMessage(id, legacyFaultOf(thrown)));
    } finally {
      if (call) running.delete(call);
    }
  };

  return {
    /**
     * Serves a request whose session, if any, has been looked up. Never throws: errors become the response.
     */
    serve,
    /**
     * The session that the headers name; undefined without a header. Throws `not_found`, also for another
     * caller's.
     */
    sessionOf,
    /** Serves any message of this era. Throws `not_found` for an unknown session and `invalid_request`. */
    async post({ request, reply, caller }: Http, incoming: Incoming) {
      if (incoming.kind === 'request' && incoming.method === 'initialize') {
        const { session, result } = await initialize({ caller, params: incoming.params });
        reply.header(sessionHeader, session.sessionId);
        return reply.send(resultMessage(incoming.id, result));
      }
      const { headers } = request;
      checkVersion(headers);
      const session = await sessionOf(headers, caller);
      if (incoming.kind === 'request') {
        reply.hijack();
        return serve({ headers, response: reply.raw, caller, session }, incoming);
      }
      if (incoming.kind === 'response') await requests.settle(incoming.id, incoming.message);
      else if (incoming.method === 'notifications/cancelled' && session) {
        const { requestId } = readParams(incoming.method, incoming.params);
        const call = `${session.sessionId}:${requestId}`;
        if (running.has(call)) running.get(call)?.abort(cancelled());
        else await dispatch.replicas.broadcast({ kind: 'cancel', call });
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
      await mcpSessions.end(session.sessionId);
      return reply.code(204).send();
    },
    close: stop,
  };
}

/** MCP 2025-03-26 to 2025-11-25. */
export type LegacyEra = ReturnType<typeof createLegacyEra>;

const ownerOf = ({ principal }: Caller) => ({ tenant: principal.tenant, keyId: principal.keyId });
const cancelled = () => new AppError('turn_cancelled', 'The call was cancelled.');
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
  throw new AppError('invalid_request', `Unsupported MCP-Protocol-Version: ${String(version)}.`, {
    details: { supported: versions },
  });
}

/** The JSON-RPC error, with the codes of this era where they differ. */
function legacyFaultOf(thrown: unknown): RpcError {
  const fault = faultOf(thrown);
  const { code } = fault.data as { code?: string };
  return code === 'resource_not_found' ? { ...fault, code: rpcCodes.resourceNotFound } : fault;
}

/**
 * This era asks the client during a call: runs the method again with the responses until it needs no more
 * input.
 */
async function untilAnswered(
  run: Methods[string],
  request: McpRequest,
  ask: (question: InputRequired) => Promise<McpRequest['inputs']>,
): Promise<object> {
  let result: MethodResult = await run(request);
  for (let round = 0; isInputRequired(result); round++) {
    if (round >= maxRounds)
      throw new AppError('tool_failed', `The tool asked for input more than ${maxRounds} times.`);
    result = await run({ ...request, inputs: await ask(result), state: result.state });
  }
  return result;
}

async function askAll(
  { inputRequests }: InputRequired,
  requests: ClientRequests,
  { send, signal }: { send: (message: object) => void; signal: AbortSignal },
): Promise<Record<string, Record<string, unknown>>> {
  const answers = await Promise.all(
    Object.entries(inputRequests).map(
      async ([key, question]) => [key, await requests.ask(question, send, signal)] as const,
    ),
  );
  return Object.fromEntries(answers);
}
