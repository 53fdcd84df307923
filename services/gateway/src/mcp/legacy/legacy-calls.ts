import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { AppError } from '@harness/contracts';
import type { Dispatch, McpSession } from '@harness/dispatch';
import { type InputRequired, isInputRequired, type LogLevel } from '@harness/plugin-kit';
import type { Audit } from '../../audit/audit.ts';
import { auditMethods } from '../../audit/audit-methods.ts';
import { disconnectSignalOf } from '../../http/client-disconnect.ts';
import type { Caller } from '../../http/credentials/authenticate.ts';
import type { TenantLimits } from '../../limits/tenant-limits.ts';
import type { ToolCalls } from '../../tools/tool-calls.ts';
import { withoutTasks } from '../continued-call.ts';
import { checkParams, readParams } from '../method-params.ts';
import type { McpRequest, MethodResult, Methods } from '../methods.ts';
import type { Subscribed } from '../subscribed.ts';
import {
  errorMessage,
  type FaultOf,
  type Incoming,
  type Params,
  type RequestId,
  type RpcError,
  resultMessage,
  rpcCodes,
  toolListMessage,
} from '../wire/json-rpc.ts';
import { acceptedBy, type McpResponse, type McpResponses } from '../wire/mcp-response.ts';
import type { ClientRequests } from './client-requests.ts';
import type { LegacyStreams } from './legacy-streams.ts';

/** From this version on, streams begin with an event id, and clients can resume them. */
const resumableSince = '2025-11-25';
/** Most rounds of questions in one call. */
const maxRounds = 10;
/** Longest URI of a subscription. */
const maxUriChars = 2_048;

/** What calls need. */
export interface LegacyDeps {
  dispatch: Dispatch;
  limits: TenantLimits;
  tools: ToolCalls;
  methods: Methods;
  instructionsFor(caller: Caller): string | undefined;
  requests: ClientRequests;
  streams: LegacyStreams;
  responses: McpResponses;
  faultOf: FaultOf;
  audit: Audit;
  subscribed: Subscribed;
}

/** One HTTP exchange, its caller, and the session that the caller named. */
export interface Exchange {
  headers: IncomingHttpHeaders;
  response: ServerResponse;
  caller: Caller;
  session: McpSession | undefined;
}

/** The requests of this era: served here, cancelled from any gateway. */
export interface LegacyCalls {
  /** Serves a request. Never throws: errors become the response. */
  serve(exchange: Exchange, incoming: Extract<Incoming, { kind: 'request' }>): Promise<void>;
  /** Cancels a request of the session, at whichever gateway it is served. */
  cancel(session: McpSession, requestId: RequestId): Promise<void>;
  close(): void;
}

/** Creates the calls of one gateway. */
export function createLegacyCalls(deps: LegacyDeps): LegacyCalls {
  const { dispatch, tools, streams, responses, faultOf } = deps;
  /** Calls in progress at this gateway, by `<sessionId>:<request id as JSON>`: 1 and "1" are two requests. */
  const running = new Map<string, AbortController>();
  const stop = dispatch.replicas.onSignal((signal) => {
    if (signal.kind === 'cancel') running.get(signal.call)?.abort(cancelled());
  });
  const perform = createPerform(deps);

  const serve: LegacyCalls['serve'] = async (exchange, incoming) => {
    const { headers, response, caller, session } = exchange;
    const { id } = incoming;
    const call = session && callOf(session, id);
    const abort = new AbortController();
    if (call) running.set(call, abort);
    const resumable = session !== undefined && session.protocolVersion >= resumableSince;
    const mcpResponse = responses.begin({
      response,
      accepts: acceptedBy(headers),
      log: resumable ? streams.logOf(session.sessionId, id) : undefined,
    });
    // Without a session the client cannot resume, so a disconnect cancels the call.
    const signal = session ? abort.signal : disconnectSignalOf(response);
    try {
      if (incoming.method === 'tools/list') {
        checkParams('tools/list', incoming.params);
        return mcpResponse.end(toolListMessage(id, tools.listBytes(caller)));
      }
      mcpResponse.end(resultMessage(id, await perform(exchange, incoming, { mcpResponse, signal })));
    } catch (thrown) {
      mcpResponse.end(errorMessage(id, legacyFaultOf(faultOf(thrown))));
    } finally {
      if (call) running.delete(call);
    }
  };

  return {
    serve,
    async cancel(session, requestId) {
      const call = callOf(session, requestId);
      if (running.has(call)) running.get(call)?.abort(cancelled());
      else await dispatch.replicas.broadcast({ kind: 'cancel', call });
    },
    close: stop,
  };
}

const callOf = ({ sessionId }: { sessionId: string }, requestId: unknown) =>
  `${sessionId}:${JSON.stringify(requestId)}`;

const cancelled = () => new AppError('turn_cancelled', 'The call was cancelled.');

/** A request of a method that needs a session. */
interface AskedInSession {
  caller: Caller;
  session: McpSession;
  params: Params;
}

/** Returns the function that performs one request, with what its client is asked meanwhile. */
function createPerform({ dispatch: { mcpSessions }, methods, requests, audit, subscribed }: LegacyDeps) {
  /** Methods that only this era has; they need a session. */
  const inSession: Record<string, (asked: AskedInSession) => Promise<object>> = {
    async 'logging/setLevel'({ session, params }) {
      await mcpSessions.setLogLevel(session.sessionId, readParams('logging/setLevel', params).level);
      return {};
    },
    async 'resources/subscribe'({ caller, session, params }) {
      const { uri } = readParams('resources/subscribe', params);
      if (uri.length > maxUriChars)
        throw new AppError(
          'invalid_request',
          `The URI is longer than ${maxUriChars} characters, the maximum: shorten it.`,
        );
      await mcpSessions.subscribe(session, uri);
      subscribed(caller, [uri]);
      return {};
    },
    async 'resources/unsubscribe'({ session, params }) {
      await mcpSessions.unsubscribe(session, readParams('resources/unsubscribe', params).uri);
      return {};
    },
  };
  const audited = auditMethods(inSession, audit);

  return async (
    { caller, session }: Exchange,
    incoming: { id: RequestId; method: string; params: Params },
    { mcpResponse, signal }: { mcpResponse: McpResponse; signal: AbortSignal },
  ): Promise<object> => {
    const { method, params } = incoming;
    if (method === 'ping') return {};
    const special = Object.hasOwn(audited, method) ? audited[method] : undefined;
    if (special && session) return special({ caller, session, params });
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!run) throw new AppError('method_not_allowed', `There is no method "${method}".`);
    checkParams(method, params);
    const request: McpRequest = {
      caller,
      params,
      signal,
      capabilities: withoutTasks(session?.capabilities ?? {}),
      wire: { protocolVersion: session?.protocolVersion ?? '2025-03-26', sessionId: session?.sessionId },
      logLevel: (session?.logLevel ?? 'info') as LogLevel,
      notify: (name, notified) => mcpResponse.send({ jsonrpc: '2.0', method: name, params: notified }),
      releaseStream: mcpResponse.release,
    };
    const ask = (question: InputRequired) => askAll(question, requests, { send: mcpResponse.send, signal });
    return untilAnswered(run, request, ask);
  };
}

/** The error with the codes of this era where they differ. */
function legacyFaultOf(fault: RpcError): RpcError {
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
  const inputs = await Promise.all(
    Object.entries(inputRequests).map(
      async ([key, question]) => [key, await requests.ask(question, send, signal)] as const,
    ),
  );
  return Object.fromEntries(inputs);
}
