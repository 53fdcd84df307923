import { isObject } from '@harness/contracts';
import {
  type Completer,
  type EmbeddedResource,
  type InputRequired,
  needInput,
  type PluginPrompt,
  type PluginRequestMeta,
  type PluginResource,
  type PluginTool,
  type PromptResult,
  type ToolResult,
} from '@harness/plugin-kit';
import { continuedResult, knowsTasks } from '../../mcp/continued-call.ts';
import { tasksExtension } from '../../mcp/wire/server-identity.ts';
import type { RawResult } from '../connection/request.ts';
import type { UpstreamConfig } from '../file/upstream-config.ts';
import type { RequestHooks } from '../link/channel.ts';
import type { UpstreamDescription, UpstreamRequest } from '../link/link.ts';
import { contentWithForeignMeta, withForeignMeta } from './foreign-meta.ts';
import { paramHeadersOf } from './param-headers.ts';
import { shownResult } from './structured-result.ts';

/** The way to an upstream. */
export interface Port {
  request(request: UpstreamRequest, hooks: RequestHooks): Promise<RawResult>;
  subscribe(uri: string): Promise<void>;
}

/** What of a tool decides how it is called. */
export interface ForwardedTool {
  inputSchema: unknown;
  outputSchema: unknown;
  /** Whether it may, or must, be called as a task of 2025-11-25. */
  taskSupport: 'optional' | 'required' | undefined;
}

/** Handlers that pass requests on to an upstream; `own` is always its own name or URI. */
export interface Forward {
  toolOf(own: string, tool: ForwardedTool): PluginTool['handler'];
  promptOf(own: string): PluginPrompt['get'];
  resourceOf(uris: { own: string; shown: string }): PluginResource['read'];
  completerOf(ref: RawResult, argument: string): Completer;
  subscribe(uri: string): Promise<void>;
}

/** The host ends a call after the upstream's time limit; the request gives up a little later, ms. */
const laterMs = 5_000;
/** Time limit of everything that is not a tool call, as that of the host, ms. */
const servedMs = 60_000;
const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;
/** What a caller can be asked for. */
const askable = ['elicitation', 'sampling', 'roots'];

/** Creates the handlers of one upstream. */
export function createForward(deps: {
  config: UpstreamConfig;
  description: UpstreamDescription;
  port: Port;
}): Forward {
  const { config, port } = deps;
  const isModern = deps.description.era === 'modern';
  const paramsOf = (params: RawResult, meta: PluginRequestMeta): RawResult => {
    const { traceparent, inputs, state, capabilities } = meta;
    const asked = Object.fromEntries(
      askable.flatMap((one) => (capabilities[one] ? [[one, capabilities[one]]] : [])),
    );
    // This gateway follows tasks for callers that cannot.
    const extensions = { [tasksExtension]: {} };
    const _meta = {
      ...(traceparent !== undefined && { traceparent }),
      // Only this era tells for which call it asks something, so only there the caller can be asked.
      ...(isModern && {
        [metaKey('clientCapabilities')]: { ...asked, extensions },
        [metaKey('logLevel')]: 'info',
      }),
    };
    const { requestState } = stateOf(state);
    return {
      ...params,
      ...(Object.keys(_meta).length > 0 && { _meta }),
      ...(Object.keys(inputs).length > 0 && { inputResponses: inputs }),
      ...(requestState !== undefined && { requestState }),
    };
  };
  const hooksOf = (meta: PluginRequestMeta): RequestHooks => ({
    signal: meta.signal,
    caller: `${meta.principal.tenant}/${meta.principal.keyId}`,
    onLog: ({ level, data, logger }) => meta.log(level as never, data, logger as string | undefined),
  });
  const send = async (
    request: Pick<UpstreamRequest, 'method' | 'params' | 'headers'>,
    meta: PluginRequestMeta,
    more: { timeoutMs: number; onProgress?: RequestHooks['onProgress'] },
  ): Promise<RawResult | InputRequired> => {
    const { threadId } = meta;
    const result = await port.request(
      {
        ...request,
        params: paramsOf(request.params, meta),
        capabilities: meta.capabilities,
        continues: stateOf(meta.state).continues,
        timeoutMs: more.timeoutMs,
        thread: threadId === undefined ? '' : `${meta.principal.tenant}/${threadId}`,
      },
      { ...hooksOf(meta), ...(more.onProgress && { onProgress: more.onProgress }) },
    );
    return result.resultType === 'input_required' ? questionOf(result) : result;
  };

  return {
    toolOf:
      (own, { inputSchema, outputSchema, taskSupport }) =>
      async (_ctx, input, meta) => {
        const asTask =
          taskSupport === 'required' || (taskSupport === 'optional' && knowsTasks(meta.capabilities));
        const result = await send(
          {
            method: 'tools/call',
            params: { name: own, arguments: input, ...(asTask && { task: { ttl: config.timeoutMs } }) },
            headers: isModern ? paramHeadersOf(inputSchema, input) : undefined,
          },
          meta,
          {
            timeoutMs: config.timeoutMs + laterMs,
            onProgress: ({ progress, total, message }) =>
              meta.progress(Number(progress), total as number | undefined, message as string | undefined),
          },
        );
        return isQuestion(result) ? result : toolResultOf(result, outputSchema);
      },
    promptOf: (own) => async (_ctx, args, meta) => {
      const params = { name: own, ...(Object.keys(args).length > 0 && { arguments: args }) };
      const result = await send({ method: 'prompts/get', params }, meta, { timeoutMs: servedMs });
      if (isQuestion(result)) return result;
      const { resultType: _, messages, ...prompt } = withForeignMeta(result);
      return {
        ...prompt,
        messages: Array.isArray(messages) ? messages.map(messageOf) : messages,
      } as unknown as PromptResult;
    },
    resourceOf:
      ({ own, shown }) =>
      async (_ctx, meta) => {
        const result = await send({ method: 'resources/read', params: { uri: own } }, meta, {
          timeoutMs: servedMs,
        });
        if (isQuestion(result)) return result;
        const contents = Array.isArray(result.contents) ? result.contents.filter(isObject) : [];
        return (contents as unknown as EmbeddedResource[])
          .map(withForeignMeta)
          .map((content) => (content.uri === own ? { ...content, uri: shown } : content));
      },
    completerOf: (ref, argument) => async (value, others) => {
      const params = {
        ref,
        argument: { name: argument, value },
        ...(Object.keys(others).length > 0 && { context: { arguments: others } }),
      };
      const request = { method: 'completion/complete', params, timeoutMs: servedMs, thread: '' };
      const { completion } = await port.request(request, { caller: '' });
      const { values, total, hasMore } = (completion ?? {}) as Record<string, unknown>;
      return {
        values: (Array.isArray(values) ? values : []).filter((one) => typeof one === 'string'),
        ...(typeof total === 'number' && { total }),
        ...(typeof hasMore === 'boolean' && { hasMore }),
      };
    },
    subscribe: port.subscribe,
  };
}

const isQuestion = (result: object): result is InputRequired =>
  'inputRequests' in result && !('resultType' in result);

/** What travels with a question and comes back with the responses: the upstream's own state, and the call that goes on. */
interface ForwardedState {
  requestState?: unknown;
  continues?: string | undefined;
}
const stateOf = (state: unknown): ForwardedState => (state ?? {}) as ForwardedState;
const questionOf = ({ inputRequests, requestState, continues }: RawResult): InputRequired =>
  needInput((inputRequests ?? {}) as InputRequired['inputRequests'], { requestState, continues });

const messageOf = (message: unknown) =>
  isObject(message) ? { ...message, content: contentWithForeignMeta(message.content) } : message;

function toolResultOf(result: RawResult, outputSchema: unknown): ToolResult {
  if (result.resultType === 'task') return continuedResult({ continues: result.continues });
  const { content, structuredContent, isError, _meta } = withForeignMeta(result);
  const blocks = (Array.isArray(content) ? content.map(contentWithForeignMeta) : []) as ToolResult['content'];
  return {
    ...shownResult({ content: blocks, structuredContent }, outputSchema),
    ...(typeof isError === 'boolean' && { isError }),
    ...(isObject(_meta) && { _meta }),
  };
}
