/**
 * MCP 2026-07-28, stateless: each request brings all that is needed. tools/list, tools/call and the tasks extension take
 * a short way of their own; discovery, subscriptions, everything else and every refusal of a malformed request are the
 * SDK's.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { AppError } from '@harness/contracts';
import type { Dispatch } from '@harness/dispatch';
import { isInputRequired } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  createRequestStateCodec,
  ProtocolError,
  Server,
  type ServerContext,
  type ServerEvent,
} from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Change, Changes } from '../../content/list-changes.ts';
import type { Caller } from '../../http/authenticate.ts';
import { leavingOf } from '../../http/client-disconnect.ts';
import { callerScope } from '../../tools/caller-scope.ts';
import type { ToolCalls } from '../../tools/tool-calls.ts';
import type { McpRequest, MethodResult, Methods } from '../methods.ts';
import { skillMethods, skillsExtension } from '../skills-extension.ts';
import { requireTasks, type TaskDoor } from '../task-methods.ts';
import {
  errorMessage,
  faultOf,
  type Incoming,
  type Params,
  type RpcError,
  resultMessage,
  rpcCodes,
  toolListMessage,
} from '../wire/json-rpc.ts';
import { type Answers, acceptedBy } from '../wire/mcp-response.ts';
import { capabilities, serverInfo, tasksExtension } from '../wire/server-identity.ts';
import { disagreeingParam, headerText, type ModernCall, readModernCall } from './modern-call.ts';

export interface ModernDeps {
  dispatch: Dispatch;
  tools: ToolCalls;
  methods: Methods;
  tasks: TaskDoor;
  changes: Changes;
  answers: Answers;
  logger: Logger;
  /** Signs the state that travels through clients; the same at every gateway. */
  secret: string;
}

/** Who asked for what. */
interface Asked {
  caller: Caller;
  method: string;
  params: Params;
}

/** How long clients may keep a list, ms; they are told when it changes. */
const listTtlMs = 60_000;
const cacheHint = { ttlMs: listTtlMs, cacheScope: 'private' as const };
const stateTtlSeconds = 3_600;
const serverInfoKey = 'io.modelcontextprotocol/serverInfo';
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

export function createModernEra(deps: ModernDeps) {
  const { tools, methods, tasks, answers, logger } = deps;
  const state = createStates(deps.secret);

  /** A result as this era says it: complete, a question, or a task. */
  const said = async (result: MethodResult, asked: Asked): Promise<object> => {
    if ('resultType' in result) return result;
    if (!isInputRequired(result)) return { resultType: 'complete', ...result };
    const { inputRequests } = result;
    if (result.state === undefined) return { resultType: 'input_required', inputRequests };
    return {
      resultType: 'input_required',
      inputRequests,
      requestState: await state.seal(result.state, asked),
    };
  };

  const handler = createMcpHandler(
    ({ authInfo }) => {
      const caller = authInfo?.extra?.caller as Caller;
      const server = new Server(serverInfo, {
        capabilities: {
          ...capabilities,
          extensions: { [tasksExtension]: {}, [skillsExtension]: { directoryRead: true } },
        },
        cacheHints: Object.fromEntries(
          sdkMethods
            .filter((method) => method.endsWith('list') || method === 'resources/read')
            .map((method) => [method, cacheHint]),
        ),
      });
      const handle = (method: string) => async (params: object, ctx: ServerContext) => {
        try {
          const asked: Asked = { caller, method, params: params as Params };
          const request = await requestOf(ctx, asked);
          return await said(await (methods[method] as Methods[string])(request), asked);
        } catch (thrown) {
          const { code, message, data } = faultOf(thrown);
          throw new ProtocolError(code, message, data);
        }
      };
      const register = server.setRequestHandler.bind(server) as unknown as (
        method: string,
        handle: (request: { params?: object }, ctx: ServerContext) => Promise<object>,
      ) => void;
      for (const method of sdkMethods)
        register(method, ({ params = {} }, ctx) => handle(method)(params, ctx));
      for (const method of skillMethods)
        server.setRequestHandler(
          method,
          { params: z.looseObject({}) },
          handle(method) as (params: object, ctx: ServerContext) => Promise<Record<string, unknown>>,
        );
      return server;
    },
    {
      legacy: 'reject',
      bus: busOf(deps.changes),
      onerror: (error) => logger.debug({ err: error }, 'mcp: request refused'),
    },
  );
  const node = toNodeHandler(handler, {
    onerror: (error) => logger.error({ err: error }, 'mcp: request failed'),
  });

  const requestOf = async (ctx: ServerContext, asked: Asked): Promise<McpRequest> => {
    const { inputResponses, requestState, signal } = ctx.mcpReq;
    const envelope: Record<string, unknown> = { ...ctx.mcpReq.envelope };
    return {
      caller: asked.caller,
      params: asked.params,
      signal,
      capabilities: (envelope['io.modelcontextprotocol/clientCapabilities'] ?? {}) as Record<string, unknown>,
      inputs: inputResponses as McpRequest['inputs'],
      state: await state.open(requestState(), asked),
      logLevel: envelope['io.modelcontextprotocol/logLevel'] as McpRequest['logLevel'],
      notify: (name, notified) =>
        void ctx.mcpReq.notify({ method: name, params: notified } as never).catch(() => undefined),
    };
  };

  /** The short way. */
  const shortCuts: Record<string, (request: McpRequest) => Promise<MethodResult>> = {
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
  const listTail = `,"ttlMs":${cacheHint.ttlMs},"cacheScope":"${cacheHint.cacheScope}","resultType":"complete","_meta":{"${serverInfoKey}":${JSON.stringify(serverInfo)}}`;

  const serve = async (
    { headers, response }: { headers: IncomingHttpHeaders; response: ServerResponse },
    { caller, call }: { caller: Caller; call: ModernCall },
  ) => {
    const { id, method, params } = call;
    const answer = answers.begin({ response, accepts: acceptedBy(headers) });
    try {
      const wrong = mismatchOf(headers, call, tools, caller);
      if (wrong) return answer.end(errorMessage(id, wrong), 400);
      if (method === 'tools/list') {
        return answer.end(toolListMessage(id, tools.listBytes(caller), listTail));
      }
      const run = shortCuts[method] as (typeof shortCuts)[string];
      const result = await run({
        caller,
        params,
        signal: leavingOf(response), // in this era, to leave is to cancel
        capabilities: call.capabilities,
        inputs: call.inputs,
        state: await state.open(call.requestState, { caller, method, params }),
        logLevel: call.logLevel,
        notify: (name, notified) => answer.send({ jsonrpc: '2.0', method: name, params: notified }),
      });
      const told = (await said(result, { caller, method, params })) as { _meta?: object };
      answer.end(resultMessage(id, { ...told, _meta: { [serverInfoKey]: serverInfo, ...told._meta } }));
    } catch (thrown) {
      const fault = faultOf(thrown);
      answer.end(errorMessage(id, fault), fault.code === rpcCodes.capabilityMissing ? 400 : 200);
    }
  };

  const isShort = ({ method }: ModernCall) => method === 'tools/list' || Object.hasOwn(shortCuts, method);

  return {
    /** A request that is in every way as it should be. Throws nothing: what goes wrong is its answer. */
    serve,
    isShort,
    async post(request: FastifyRequest, reply: FastifyReply, caller: Caller, incoming: Incoming | undefined) {
      reply.hijack();
      const call = incoming && readModernCall(request.headers, incoming);
      if (call && isShort(call))
        return serve({ headers: request.headers, response: reply.raw }, { caller, call });
      const auth = { token: '', clientId: caller.principal.keyId, scopes: [], extra: { caller } };
      const incomingMessage = Object.assign(request.raw, { auth }) as Parameters<typeof node>[0];
      await node(incomingMessage, reply.raw, request.body);
    },
    close: handler.close,
  };
}

export type ModernEra = ReturnType<typeof createModernEra>;

/** What a header says otherwise than the body. */
function mismatchOf(
  headers: IncomingHttpHeaders,
  { method, params }: ModernCall,
  tools: ToolCalls,
  caller: Caller,
): RpcError | undefined {
  const said = (header: string) => ({
    code: rpcCodes.headerMismatch,
    message: `The header ${header} does not say what the body says.`,
  });
  const name =
    method === 'tools/call' ? params.name : method.startsWith('tasks/') ? params.taskId : undefined;
  if (name !== undefined && headerText(headers['mcp-name']) !== name) return said('Mcp-Name');
  if (method !== 'tools/call') return undefined;
  const wrong = disagreeingParam(headers, tools.find(caller, String(name)), params.arguments);
  return wrong === null ? undefined : said(`Mcp-Param-${wrong}`);
}

/** State that travels through clients: sealed, for one caller and what it asked for, for a time. */
function createStates(secret: string) {
  const codec = createRequestStateCodec<{ state: unknown }>({
    key: `harness/request-state/${secret}`.padEnd(32, '.'),
    ttlSeconds: stateTtlSeconds,
    bind: (ctx) => ctx as unknown as string,
  });
  const bound = ({ caller: { principal }, method, params }: Asked) => {
    const target = String(params.name ?? params.uri ?? '');
    return [principal.tenant, principal.keyId, method, target].join('\0') as unknown as ServerContext;
  };
  return {
    seal: (state: unknown, asked: Asked) => codec.mint({ state }, bound(asked)),
    /** Throws an error that `faultOf` knows for a state that we did not seal. */
    async open(sealed: unknown, asked: Asked): Promise<unknown> {
      if (sealed === undefined) return undefined;
      try {
        return (await codec.verify(String(sealed), bound(asked))).state;
      } catch (cause) {
        throw new AppError('invalid_request', 'requestState was not issued here, or has expired.', { cause });
      }
    },
  };
}

/** Our changes, from whichever gateway, as the SDK's subscriptions take them. */
function busOf(changes: Changes) {
  return {
    publish: () => undefined, // nothing is published from within the SDK
    /** Called within the request that subscribes. */
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
