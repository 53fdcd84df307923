/**
 * The MCP methods that are the same in every era. The era reads the request, provides the context and writes
 * the response; it converts what these functions throw with its `faultOf`.
 */
import { AppError } from '@harness/contracts';
import type {
  InputRequired,
  LogLevel,
  PluginHost,
  PluginRequestMeta,
  ServedCatalog,
} from '@harness/plugin-kit';
import { isInputRequired } from '@harness/plugin-kit';
import { type Caller, requireScope } from '../http/credentials/authenticate.ts';
import { traceparentOf } from '../http/trace-requests.ts';
import type { McpWire, ToolCall } from '../tools/tool-call.ts';
import type { ToolCalls } from '../tools/tool-calls.ts';
import type { Params } from './wire/json-rpc.ts';

/** One request of a client, as its era provides it. */
export interface McpRequest {
  caller: Caller;
  params: Params;
  signal: AbortSignal;
  /** The client's capabilities. */
  capabilities: Record<string, unknown>;
  /** The client's responses to the questions of an earlier round, by key. */
  inputs?: Record<string, Record<string, unknown>> | undefined;
  /** The handler's own state from the earlier round. */
  state?: unknown;
  /** Lowest level of log notifications that the client wants; undefined = none. */
  logLevel: LogLevel | undefined;
  /** The protocol version and, in the 2025 era, the MCP session. */
  wire?: McpWire | undefined;
  /** Sends a notification on the request's own stream; a no-op when the client has disconnected. */
  notify(method: string, params: object): void;
  /** Closes the open SSE stream so that the client can resume later (2025-11-25 only). */
  releaseStream?: (() => void) | undefined;
}

/** A method's result, or the input that it requires first. */
export type MethodResult = object | InputRequired;
/** Handlers by method name. */
export type Methods = Record<string, (request: McpRequest) => Promise<MethodResult> | MethodResult>;

/**
 * Keys of `_meta`: the Agent SDK's id of the model's tool use, and the thread that an outside caller names.
 */
const toolUseIdKey = 'claudecode/toolUseId';
const threadIdKey = 'harness/threadId';

/** From lowest to highest. */
export const logLevels: readonly LogLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

/** Creates the handlers of tools, resources, prompts and completions. */
export function createMethods(deps: { tools: ToolCalls; plugins: PluginHost }): Methods {
  const { tools, plugins } = deps;
  const served = (caller: Caller): ServedCatalog => {
    requireScope(caller, 'tools');
    return plugins.servedFor(caller.principal.tenant);
  };
  /** A server that keeps state for each thread keeps it for all that the thread asks. */
  const readMetaOf = async (request: McpRequest) => {
    const named = optionalText((request.params._meta ?? {}) as Params, threadIdKey);
    return { ...requestMetaOf(request), threadId: await tools.readingThreadOf(request.caller, named) };
  };
  return {
    'tools/list': ({ caller }) => ({ tools: tools.list(caller) }),
    'tools/call': (request) => tools.call(request.caller, toolCallOf(request)),
    'resources/list': ({ caller }) => ({ resources: served(caller).resources }),
    'resources/templates/list': ({ caller }) => ({ resourceTemplates: served(caller).templates }),
    async 'resources/read'(request) {
      const { caller, params } = request;
      const read = await served(caller).read(textOf(params, 'uri'), await readMetaOf(request));
      return isInputRequired(read) ? read : { contents: read };
    },
    'prompts/list': ({ caller }) => ({ prompts: served(caller).prompts }),
    async 'prompts/get'(request) {
      const { caller, params } = request;
      const args = textsOf(params.arguments ?? {}, 'arguments');
      const got = await served(caller).prompt(textOf(params, 'name'), args, await readMetaOf(request));
      return got;
    },
    async 'completion/complete'({ caller, params }) {
      const { ref, argument, context } = params as Record<string, Params | undefined>;
      if (!ref || !argument)
        throw new AppError('invalid_request', 'completion/complete needs the params "ref" and "argument".');
      const found = await served(caller).complete({
        ref:
          ref.type === 'ref/prompt' ? { prompt: textOf(ref, 'name') } : { uriTemplate: textOf(ref, 'uri') },
        argument: { name: textOf(argument, 'name'), value: textOf(argument, 'value') },
        others: textsOf(context?.arguments ?? {}, 'context.arguments'),
      });
      const shown = found.values.slice(0, maxCompletions);
      const { total, hasMore = (total ?? found.values.length) > shown.length } = found;
      return { completion: { values: shown, ...(total !== undefined && { total }), hasMore } };
    },
  };
}

/** Limit of the MCP specification. */
const maxCompletions = 100;

/** Converts a tools/call request. Throws `invalid_request` for a param of the wrong type. */
export function toolCallOf(request: McpRequest): ToolCall {
  const { params } = request;
  const meta = (params._meta ?? {}) as Params;
  return {
    ...requestMetaOf(request),
    name: textOf(params, 'name'),
    transport: 'mcp',
    wire: request.wire,
    arguments: params.arguments,
    threadId: optionalText(meta, threadIdKey),
    toolUseId: optionalText(meta, toolUseIdKey),
    progress: progressOf(meta.progressToken, request.notify),
    releaseStream: request.releaseStream,
  };
}

function requestMetaOf(request: McpRequest) {
  const { signal, capabilities, inputs, state, caller, params } = request;
  const { traceparent } = (params._meta ?? {}) as Params;
  return {
    signal,
    capabilities,
    inputs,
    state,
    principal: caller.principal,
    traceparent: traceparentOf(traceparent),
    log: logOf(request),
  };
}

function logOf({ logLevel, notify }: McpRequest): PluginRequestMeta['log'] | undefined {
  if (logLevel === undefined) return undefined;
  const lowest = logLevels.indexOf(logLevel);
  return (level, data, logger) => {
    if (logLevels.indexOf(level) < lowest) return;
    notify('notifications/message', { level, data, ...(logger === undefined ? {} : { logger }) });
  };
}

/** Reports progress if the client sent a progress token. */
function progressOf(progressToken: unknown, notify: McpRequest['notify']): ToolCall['progress'] {
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined;
  return (progress, total, message) =>
    notify('notifications/progress', {
      progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    });
}

function textOf(params: Params, name: string): string {
  const value = params[name];
  if (typeof value !== 'string') throw new AppError('invalid_request', `"${name}" must be a string.`);
  return value;
}

function optionalText(params: Params, name: string): string | undefined {
  return params[name] === undefined ? undefined : textOf(params, name);
}

function textsOf(value: unknown, name: string): Record<string, string> {
  const isTexts =
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((entry) => typeof entry === 'string');
  if (!isTexts) throw new AppError('invalid_request', `"${name}" must be an object of strings.`);
  return value as Record<string, string>;
}
