/**
 * The part of MCP 2026-07-28 that the official SDK serves: discovery, subscriptions, every method that
 * modern-era.ts does not serve, and errors for malformed requests.
 */
import type { ErrorCode } from '@harness/contracts';
import type { Logger } from '@harness/runtime';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  ProtocolError,
  Server,
  type ServerContext,
  type ServerEvent,
} from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Change, Changes } from '../../content/list-changes.ts';
import type { Caller } from '../../http/credentials/authenticate.ts';
import { callerScope } from '../../tools/caller-scope.ts';
import { checkParams } from '../method-params.ts';
import type { McpRequest, Methods } from '../methods.ts';
import { skillMethods, skillsExtension } from '../skills-extension.ts';
import { type FaultOf, type Params, type RpcError, rpcCodes } from '../wire/json-rpc.ts';
import { capabilities, serverInfo, tasksExtension } from '../wire/server-identity.ts';
import { modernVersion } from './modern-call.ts';
import type { Asked, RequestStates } from './request-state.ts';

/** How long clients may cache a list, ms; subscribers are notified when it changes. */
export const listCache = { ttlMs: 60_000, cacheScope: 'private' as const };

const sdkMethods = [
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
] as const;

/** What the handler needs. */
export interface SdkHandlerDeps {
  methods: Methods;
  instructionsFor(caller: Caller): string | undefined;
  states: RequestStates;
  changes: Changes;
  logger: Logger;
  faultOf: FaultOf;
}

/** Serves requests through the SDK. */
export interface SdkHandler {
  /** Writes the whole response. */
  post(request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<void>;
  close(): Promise<void>;
}

/** Creates the handler. The SDK creates a server per request. */
export function createSdkHandler(deps: SdkHandlerDeps): SdkHandler {
  const handler = createMcpHandler(({ authInfo }) => serverFor(authInfo?.extra?.caller as Caller, deps), {
    legacy: 'reject',
    bus: subscriptionsTo(deps.changes),
    maxSubscriptions: 10_000, // `slots` limits them by tenant and key
    onerror: (error) => deps.logger.debug({ err: error }, 'mcp: request refused'),
  });
  const node = toNodeHandler(
    { fetch: async (...asked) => withCode(await handler.fetch(...asked)) },
    { onerror: (error) => deps.logger.error({ err: error }, 'mcp: request failed') },
  );
  return {
    async post(request, reply, caller) {
      const auth = { token: '', clientId: caller.principal.keyId, scopes: [], extra: { caller } };
      await node(Object.assign(request.raw, { auth }) as Parameters<typeof node>[0], reply.raw, request.body);
    },
    close: handler.close,
  };
}

/** Adds `data.code`, which every error of /mcp has, to a refusal by the SDK. */
async function withCode(response: Response): Promise<Response> {
  const { status, headers } = response;
  if (status < 400 || !headers.get('content-type')?.startsWith('application/json')) return response;
  const { error, ...message } = (await response.json()) as { error: RpcError };
  const data = { code: codesOf[error.code] ?? 'invalid_request', ...(error.data as object | undefined) };
  return Response.json({ ...message, error: { ...error, data } }, { status, headers });
}

const codesOf: Record<number, ErrorCode> = {
  [rpcCodes.methodNotFound]: 'method_not_allowed',
  [rpcCodes.capabilityMissing]: 'capability_missing',
  [rpcCodes.internalError]: 'internal',
};

function serverFor(caller: Caller, deps: SdkHandlerDeps): Server {
  const { methods, states, faultOf } = deps;
  const instructions = deps.instructionsFor(caller);
  const server = new Server(serverInfo, {
    ...(instructions !== undefined && { instructions }),
    capabilities: {
      ...capabilities,
      extensions: { [tasksExtension]: {}, [skillsExtension]: { directoryRead: true } },
    },
    cacheHints: Object.fromEntries(
      sdkMethods
        .filter((method) => method.endsWith('list') || method === 'resources/read')
        .map((method) => [method, listCache]),
    ),
  });
  const handle = (method: string) => async (params: object, ctx: ServerContext) => {
    try {
      const asked: Asked = { caller, method, params: params as Params };
      checkParams(method, asked.params);
      const request = await requestOf(ctx, asked, states);
      return await states.toWire(await (methods[method] as Methods[string])(request), asked);
    } catch (thrown) {
      const { code, message, data } = faultOf(thrown);
      throw new ProtocolError(code, message, data);
    }
  };
  // Any params: the SDK would refuse wrong ones as an internal error, with raw text of its validator.
  for (const method of [...sdkMethods, ...skillMethods])
    server.setRequestHandler(
      method,
      { params: z.looseObject({}) },
      handle(method) as (params: object, ctx: ServerContext) => Promise<Record<string, unknown>>,
    );
  return server;
}

async function requestOf(ctx: ServerContext, asked: Asked, states: RequestStates): Promise<McpRequest> {
  const { inputResponses, requestState, signal } = ctx.mcpReq;
  const envelope: Record<string, unknown> = { ...ctx.mcpReq.envelope };
  return {
    caller: asked.caller,
    params: asked.params,
    signal,
    wire: { protocolVersion: modernVersion },
    capabilities: (envelope['io.modelcontextprotocol/clientCapabilities'] ?? {}) as Record<string, unknown>,
    inputs: inputResponses as McpRequest['inputs'],
    state: await states.open(requestState(), asked),
    logLevel: envelope['io.modelcontextprotocol/logLevel'] as McpRequest['logLevel'],
    notify: (name, notified) =>
      void ctx.mcpReq.notify({ method: name, params: notified } as never).catch(() => undefined),
  };
}

/** Changes of lists and resources, from any gateway, as a bus of the SDK. */
function subscriptionsTo(changes: Changes) {
  return {
    publish: () => undefined, // the SDK's handlers publish nothing
    /** The SDK calls it within the subscribing request, so its caller scope is set. */
    subscribe(listener: (event: ServerEvent) => void) {
      const keyId = callerScope.getStore()?.keyId;
      return changes.onChange((change) => {
        if ('keyId' in change && change.keyId !== keyId) return;
        listener(eventOf(change));
      });
    },
  };
}

const eventOf = (change: Change): ServerEvent =>
  'uri' in change ? { kind: 'resource_updated', uri: change.uri } : { kind: `${change.list}_list_changed` };
