/**
 * What MCP clients may ask for, the same in every era. An era's door reads the request, brings the context, and writes
 * the answer; whatever these functions throw it passes through `faultOf`.
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
import { type Caller, requireScope } from '../http/authenticate.ts';
import { traceparentOf } from '../tools/caller-scope.ts';
import type { ToolCall } from '../tools/tool-call.ts';
import type { ToolCalls } from '../tools/tool-calls.ts';
import type { Params } from './wire/json-rpc.ts';

/** One request of a client, with all that its era knows of it. */
export interface McpRequest {
  caller: Caller;
  params: Params;
  signal: AbortSignal;
  capabilities: Record<string, unknown>;
  inputs?: Record<string, Record<string, unknown>> | undefined;
  state?: unknown;
  /** Lines below this level are not wanted; undefined = none are. */
  logLevel: LogLevel | undefined;
  /** Sends a notification on the request's own stream; one that has left is no failure. */
  notify(method: string, params: object): void;
  releaseStream?: (() => void) | undefined;
}

export type MethodResult = object | InputRequired;
export type Methods = Record<string, (request: McpRequest) => Promise<MethodResult> | MethodResult>;

/** Which keys of `_meta` we read: the Agent SDK's id of the model's call, and the thread an outside caller names. */
const toolUseIdKey = 'claudecode/toolUseId';
const threadIdKey = 'harness/threadId';

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

export function createMethods(deps: { tools: ToolCalls; plugins: PluginHost }): Methods {
  const { tools, plugins } = deps;
  const served = (caller: Caller): ServedCatalog => {
    requireScope(caller, 'tools');
    return plugins.served;
  };
  return {
    'tools/list': ({ caller }) => ({ tools: tools.list(caller) }),
    'tools/call': (request) => tools.call(request.caller, toolCallOf(request)),
    'resources/list': ({ caller }) => ({ resources: served(caller).resources }),
    'resources/templates/list': ({ caller }) => ({ resourceTemplates: served(caller).templates }),
    async 'resources/read'(request) {
      const { caller, params } = request;
      const read = await served(caller).read(textOf(params, 'uri'), requestMetaOf(request));
      return isInputRequired(read) ? read : { contents: read };
    },
    'prompts/list': ({ caller }) => ({ prompts: served(caller).prompts }),
    async 'prompts/get'(request) {
      const { caller, params } = request;
      const args = textsOf(params.arguments ?? {}, 'arguments');
      const got = await served(caller).prompt(textOf(params, 'name'), args, requestMetaOf(request));
      return isInputRequired(got) ? got : { messages: got };
    },
    async 'completion/complete'({ caller, params }) {
      const { ref, argument, context } = params as Record<string, Params | undefined>;
      if (!ref || !argument) throw new AppError('invalid_request', '"ref" and "argument" are needed.');
      const values = await served(caller).complete({
        ref:
          ref.type === 'ref/prompt' ? { prompt: textOf(ref, 'name') } : { uriTemplate: textOf(ref, 'uri') },
        argument: { name: textOf(argument, 'name'), value: textOf(argument, 'value') },
        others: textsOf(context?.arguments ?? {}, 'context.arguments'),
      });
      const shown = values.slice(0, maxCompletions);
      return { completion: { values: shown, total: values.length, hasMore: values.length > shown.length } };
    },
  };
}

/** MCP's own bound. */
const maxCompletions = 100;

/** A tools/call as the tool plane takes it. */
export function toolCallOf(request: McpRequest): ToolCall {
  const { params } = request;
  const meta = (params._meta ?? {}) as Params;
  return {
    ...requestMetaOf(request),
    name: textOf(params, 'name'),
    door: 'mcp',
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

/** Progress goes to those who asked for it by a token. */
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
