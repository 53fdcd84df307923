/**
 * MCP 2026-07-28, stateless: each request carries all its context. tools/list, tools/call and the tasks
 * extension are served here; all other methods, and every malformed request, by the SDK.
 *
 *   modern-call.ts    reads a well-formed request
 *   request-state.ts  seals the state of calls in several rounds
 *   sdk-handler.ts    the methods that the SDK serves
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { AppError } from '@harness/contracts';
import type { TokenSecrets } from '@harness/dispatch';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Audit } from '../../audit/audit.ts';
import { auditMethods } from '../../audit/audit-methods.ts';
import { disconnectSignalOf, onDisconnect } from '../../http/client-disconnect.ts';
import type { Caller } from '../../http/credentials/authenticate.ts';
import type { Slots } from '../../limits/slots.ts';
import type { ToolCalls } from '../../tools/tool-calls.ts';
import { checkParams } from '../method-params.ts';
import type { McpRequest, MethodResult } from '../methods.ts';
import type { Subscribed } from '../subscribed.ts';
import { requireTasks, type TaskMethods } from '../task-methods.ts';
import { errorMessage, type RpcError, resultMessage, rpcCodes, toolListMessage } from '../wire/json-rpc.ts';
import { acceptedBy, type McpResponses } from '../wire/mcp-response.ts';
import { serverInfo } from '../wire/server-identity.ts';
import { disagreeingParam, headerText, type ModernCall, modernVersion } from './modern-call.ts';
import { createRequestStates } from './request-state.ts';
import { createSdkHandler, listCache, type SdkHandlerDeps } from './sdk-handler.ts';

/** What this era needs. */
export interface ModernDeps extends Omit<SdkHandlerDeps, 'states'> {
  tools: ToolCalls;
  tasks: TaskMethods;
  responses: McpResponses;
  slots: { subscriptions: Slots };
  subscribed: Subscribed;
  audit: Audit;
  /** Sign request state that travels through clients; the same at every gateway. */
  tokenSecrets: Pick<TokenSecrets, 'accepted'>;
}

/** One HTTP exchange and its caller. */
interface Exchange {
  headers: IncomingHttpHeaders;
  response: ServerResponse;
  caller: Caller;
}

const serverInfoKey = 'io.modelcontextprotocol/serverInfo';
const listTail = `,"ttlMs":${listCache.ttlMs},"cacheScope":"${listCache.cacheScope}","resultType":"complete","_meta":{"${serverInfoKey}":${JSON.stringify(serverInfo)}}`;

/** MCP 2026-07-28, for the short path and for Fastify. */
export interface ModernEra {
  /**
   * Serves a well-formed request of a method for which `isOwn` is true. Never throws: errors become the
   * response.
   */
  serve(exchange: Exchange, call: ModernCall): Promise<void>;
  /** Whether the method is served here and not by the SDK. */
  isOwn(call: ModernCall): boolean;
  /** Serves any request of this era; `call` is undefined for a malformed one. */
  post(
    http: { request: FastifyRequest; reply: FastifyReply; caller: Caller },
    call: ModernCall | undefined,
  ): Promise<void>;
  close(): Promise<void>;
}

/** Creates the modern era of one gateway. */
export function createModernEra(deps: ModernDeps): ModernEra {
  const { tools, tasks, responses } = deps;
  const states = createRequestStates(deps.tokenSecrets.accepted);
  const sdk = createSdkHandler({ ...deps, states });
  const own = auditMethods(ownMethods(tasks), deps.audit);

  const serve: ModernEra['serve'] = async ({ headers, response, caller }, call) => {
    const { id, method, params } = call;
    const asked = { caller, method, params };
    const mcpResponse = responses.begin({ response, accepts: acceptedBy(headers) });
    try {
      const wrong = mismatchOf(headers, call, tools.find(caller, String(params.name)));
      if (wrong) return mcpResponse.end(errorMessage(id, wrong), 400);
      if (method === 'tools/list') {
        checkParams(method, params);
        return mcpResponse.end(toolListMessage(id, tools.listBytes(caller), listTail));
      }
      const result = await (own[method] as (typeof own)[string])({
        caller,
        params,
        signal: disconnectSignalOf(response), // in this era a disconnect cancels the call
        capabilities: call.capabilities,
        wire: { protocolVersion: modernVersion },
        inputs: call.inputs,
        state: await states.open(call.requestState, asked),
        logLevel: call.logLevel,
        notify: (name, notified) => mcpResponse.send({ jsonrpc: '2.0', method: name, params: notified }),
      });
      const written = (await states.toWire(result, asked)) as { _meta?: object };
      const _meta = { [serverInfoKey]: serverInfo, ...written._meta };
      mcpResponse.end(resultMessage(id, { ...written, _meta }));
    } catch (thrown) {
      const fault = deps.faultOf(thrown);
      mcpResponse.end(errorMessage(id, fault), fault.code === rpcCodes.capabilityMissing ? 400 : 200);
    }
  };
  const isOwn = ({ method }: ModernCall) => method === 'tools/list' || Object.hasOwn(own, method);

  return {
    serve,
    isOwn,
    async post({ request, reply, caller }, call) {
      if (isSubscription(request.body)) {
        checkSubscription(request.body);
        onDisconnect(reply.raw, deps.slots.subscriptions.take(caller.principal));
        deps.subscribed(caller, resourcesIn(request.body));
      }
      reply.hijack();
      if (call && isOwn(call)) return serve({ headers: request.headers, response: reply.raw, caller }, call);
      await sdk.post(request, reply, caller);
    },
    close: sdk.close,
  };
}

const isSubscription = (body: unknown): body is object =>
  (body as { method?: unknown } | undefined)?.method === 'subscriptions/listen';

/** The URIs that a client subscribes to; the SDK checks the rest of the request. */
const resourcesIn = (body: object): unknown[] => {
  const { params } = body as { params?: { notifications?: { resourceSubscriptions?: unknown } } };
  const uris = params?.notifications?.resourceSubscriptions;
  return Array.isArray(uris) ? uris : [];
};

/** What a client subscribes to is kept as long as its stream is open, bytes. */
const maxSubscriptionBytes = 64 * 1024;
function checkSubscription(body: object): void {
  if (Buffer.byteLength(JSON.stringify(body)) > maxSubscriptionBytes)
    throw new AppError(
      'invalid_request',
      `A subscription may have ${maxSubscriptionBytes} bytes. Name fewer resources.`,
    );
}

/** The methods served here: most of the traffic, and those that the SDK lacks. */
function ownMethods(tasks: TaskMethods): Record<string, (request: McpRequest) => Promise<MethodResult>> {
  return {
    'tools/call': tasks.call,
    'tasks/get': ({ caller, params, capabilities: can }) => {
      requireTasks(can);
      return tasks.get(caller, String(params.taskId));
    },
    'tasks/update': ({ caller, params, capabilities: can, inputs = {} }) => {
      requireTasks(can);
      return tasks.update(caller, String(params.taskId), inputs);
    },
    'tasks/cancel': ({ caller, params, capabilities: can }) => {
      requireTasks(can);
      return tasks.cancel(caller, String(params.taskId));
    },
  };
}

/** The error if a header differs from the body. */
function mismatchOf(
  headers: IncomingHttpHeaders,
  { method, params }: ModernCall,
  tool: ReturnType<ToolCalls['find']>,
): RpcError | undefined {
  const disagrees = (header: string) => ({
    code: rpcCodes.headerMismatch,
    message: `The header ${header} is missing or differs from the body.`,
    data: { code: 'invalid_request' },
  });
  const name =
    method === 'tools/call' ? params.name : method.startsWith('tasks/') ? params.taskId : undefined;
  if (name !== undefined && headerText(headers['mcp-name']) !== name) return disagrees('Mcp-Name');
  if (method !== 'tools/call') return undefined;
  const wrong = disagreeingParam(headers, tool, params.arguments);
  return wrong === null ? undefined : disagrees(`Mcp-Param-${wrong}`);
}
