/**
 * Lists and calls tools for REST and both MCP eras. The caller's credential decides what it sees and where a
 * call comes from.
 *
 * This folder:
 *   search/              finding tools among thousands
 *   tool-call.ts         the type of a tool call
 *   caller-rights.ts     what agents may do for a caller
 *   caller-scope.ts      the caller on whose behalf plugin code runs
 *   present-caller.ts    a caller with its current rights
 *   call-source.ts       the thread, task and run that a call comes from
 *   run-once.ts          the ledger of calls that must not run twice
 *   thread-tools.ts      the tools that a thread's session has
 *   trace-tool-call.ts   the spans of a tool call
 *   tool-lock-file.ts    reads and writes the tool lock
 *   write-tool-lock.ts   `npm run tools:lock`
 */
import { AppError } from '@harness/contracts';
import type { Dispatch, TokenSecrets } from '@harness/dispatch';
import {
  type InputRequired,
  isInputRequired,
  type PluginHost,
  type PluginTool,
  type ToolCallMeta,
  type ToolDescriptor,
  type ToolOutcome,
  type ToolView,
} from '@harness/plugin-kit';
import { busPluginName, type OuterCall } from '@harness/plugins';
import { noTracing, type Tracing } from '@harness/runtime';
import type { Audit } from '../audit/audit.ts';
import { createToolAudit } from '../audit/audit-tool-calls.ts';
import { type Caller, requireToolAccess } from '../http/credentials/authenticate.ts';
import type { Slots } from '../limits/slots.ts';
import type { ToolCalled } from '../metrics/gateway-metrics.ts';
import { createCallSources } from './call-source.ts';
import { callerScope } from './caller-scope.ts';
import { createPresentCaller, type PresentCaller } from './present-caller.ts';
import { runOnce } from './run-once.ts';
import type { ToolCall } from './tool-call.ts';
import { createToolTrace } from './trace-tool-call.ts';

/** Tools as one caller may use them. */
export interface ToolCalls {
  /** The tools that the caller may use. */
  list(caller: Caller): readonly ToolDescriptor[];
  /** The same list as JSON bytes, cached. */
  listBytes(caller: Caller): Buffer;
  /** Undefined if the caller may not use the tool, or there is none. */
  find(caller: Caller, name: string): ToolDescriptor | undefined;
  /** Whether calls of the tool become MCP tasks. */
  taskModeOf(name: string): PluginTool['task'];
  /**
   * Calls a tool; a failure of the tool itself is a result. Throws `tool_not_found`, `forbidden`,
   * `thread_not_found`, `stale_epoch`, `limit_reached`, and `capability_missing` when the tool needs input that the caller
   * cannot give.
   */
  call(caller: Caller, call: ToolCall): Promise<ToolOutcome>;
  /**
   * The input that the tool requires before its call becomes a task. Throws like `call`, and
   * `invalid_tool_input`.
   */
  beforeTask(caller: Caller, call: ToolCall): Promise<InputRequired | undefined>;
  present: PresentCaller;
  /** The thread for which a caller reads a resource or gets a prompt. Throws like `call` for a thread that it names. */
  readingThreadOf(caller: Caller, named: string | undefined): Promise<string>;
  /** The rights with which plugin code that is not a tool (resources, prompts) calls tools. */
  outerCallOf(caller: Caller): OuterCall;
}

/** What tool calls need. */
export interface ToolCallsDeps {
  dispatch: Dispatch;
  plugins: PluginHost;
  tokenSecrets: Pick<TokenSecrets, 'naming'>;
  audit: Audit;
  /** Slots for calls in progress. */
  slots: Slots;
  tracing?: Tracing | undefined;
  /** Called when a call of an existing tool has ended. */
  onCalled?: (call: ToolCalled) => void;
}

/** Creates the tool calls of one gateway. */
export function createToolCalls(deps: ToolCallsDeps): ToolCalls {
  const { dispatch, plugins } = deps;
  const audit = createToolAudit(deps.audit);
  const traced = createToolTrace(deps.tracing ?? noTracing);
  const viewOf = createViews();
  const listsAsBytes = new WeakMap<readonly ToolDescriptor[], Buffer>();
  const sources = createCallSources(dispatch, deps.tokenSecrets.naming);
  const present = createPresentCaller(dispatch);

  const serverFor = (caller: Caller, name: string) => {
    requireToolAccess(caller);
    if (!plugins.toolServer) throw new AppError('tool_not_found', `There is no tool "${name}".`);
    return plugins.toolServer;
  };
  const metaOf = async (caller: Caller, call: ToolCall): Promise<ToolCallMeta> => {
    const { signal, capabilities, inputs, state, traceparent, log, toolUseId, progress, releaseStream } =
      call;
    const { threadId, taskId, runId, attempt } = await sources.ofCall(caller, call.threadId);
    return {
      principal: caller.principal,
      threadId,
      taskId,
      runId,
      attempt,
      toolUseId,
      signal,
      capabilities,
      inputs,
      state,
      traceparent,
      log,
      progress,
      releaseStream,
    };
  };

  const viewNowOf = (caller: Caller) => async () => viewOf(await present(caller));

  const audited: ToolCalls['call'] = (caller, toolCall) =>
    audit(caller, toolCall, async (from) => {
      const { name, arguments: input, toolUseId } = toolCall;
      const toolServer = serverFor(caller, name);
      const meta = await metaOf(caller, toolCall);
      from(meta);
      const { tenant } = caller.principal;
      const run = () =>
        traced.plugin({ name, meta }, (meta) =>
          callerScope.run({ tenant, call: { meta, view: viewNowOf(caller) } }, () =>
            toolServer.call(name, { input, meta, view: viewOf(caller) }),
          ),
        );
      return caller.session && toolUseId && toolServer.runsOnce(name)
        ? runOnce(dispatch.ledger, { ...caller.session, toolUseId }, run)
        : run();
    });
  return {
    list: (caller) => plugins.toolServer?.list(viewOf(caller)) ?? [],
    listBytes(caller) {
      const list = plugins.toolServer?.list(viewOf(caller)) ?? [];
      const known = listsAsBytes.get(list);
      if (known) return known;
      const bytes = Buffer.from(JSON.stringify(list));
      listsAsBytes.set(list, bytes);
      return bytes;
    },
    find: (caller, name) => plugins.toolServer?.find(name, viewOf(caller)),
    taskModeOf: (name) => plugins.toolServer?.taskModeOf(name),
    present,
    async call(caller, toolCall) {
      const giveBack = deps.slots.take(caller.principal);
      const begunAt = performance.now();
      let isError = true;
      try {
        const outcome = await traced.call(caller, toolCall, () => audited(caller, toolCall));
        isError = !isInputRequired(outcome) && outcome.isError === true;
        return outcome;
      } finally {
        giveBack();
        const { name: tool, transport } = toolCall;
        const seconds = (performance.now() - begunAt) / 1000;
        // Unknown names must not become labels of metrics: callers could create any number of them.
        if (plugins.toolServer?.find(tool))
          deps.onCalled?.({ tool, transport: caller.session ? 'session' : transport, isError, seconds });
      }
    },
    async beforeTask(caller, toolCall) {
      const { name, arguments: input } = toolCall;
      const toolServer = serverFor(caller, name);
      const meta = await metaOf(caller, toolCall);
      const { tenant } = caller.principal;
      return callerScope.run({ tenant, call: { meta, view: viewNowOf(caller) } }, () =>
        toolServer.beforeTask(name, { input, meta, view: viewOf(caller) }),
      );
    },
    async readingThreadOf(caller, named) {
      const isNamed = named !== undefined && !caller.session;
      return (isNamed ? await sources.ofCall(caller, named) : sources.ofRead(caller)).threadId;
    },
    outerCallOf(caller) {
      return {
        meta: { ...sources.ofRead(caller), principal: caller.principal },
        view: viewNowOf(caller),
      };
    },
  };
}

/** Creates the lookup of a caller's view: cached per caller object, so that its list is found without comparing lists. */
function createViews(): (caller: Caller) => ToolView {
  const views = new WeakMap<Caller, ToolView>();
  return (caller) => {
    const known = views.get(caller);
    if (known) return known;
    const { scopes, tenant } = caller.principal;
    const tools = scopes.includes('tools') ? caller.tools : ofBus(caller.tools);
    const view = { tools, scopes, tenant, isSession: caller.session !== undefined };
    views.set(caller, view);
    return view;
  };
}

const busTools = `${busPluginName}__`;
/** The tools of a caller without the scope `tools`: at most those of the bus. */
const ofBus = (tools: readonly string[] | undefined): readonly string[] =>
  tools?.filter((name) => name.startsWith(busTools)) ?? [`${busTools}*`];
