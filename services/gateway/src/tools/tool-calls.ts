/**
 * Lists and calls tools for REST and both MCP eras. The caller's credential decides what it sees and where a
 * call comes from.
 *
 * This folder:
 *   search/              finding tools among thousands
 *   tool-call.ts         the type of a tool call
 *   caller-scope.ts      the caller on whose behalf plugin code runs
 *   trace-tool-call.ts   the spans of a tool call
 *   tool-lock-file.ts    reads and writes the tool lock
 *   write-tool-lock.ts   `npm run tools:lock`
 */
import { isDeepStrictEqual } from 'node:util';
import { AppError, defaultThreadIdOf, type ThreadTokenClaims } from '@harness/contracts';
import type { Authority, Dispatch, Ledger, TokenSecrets } from '@harness/dispatch';
import {
  type InputRequired,
  isInputRequired,
  type PluginHost,
  type PluginTool,
  type ToolDescriptor,
  type ToolOutcome,
  type ToolResult,
  type ToolView,
} from '@harness/plugin-kit';
import { busPluginName, type OuterCall } from '@harness/plugins';
import { noTracing, type Tracing } from '@harness/runtime';
import type { Audit } from '../audit/audit.ts';
import { createToolAudit } from '../audit/audit-tool-calls.ts';
import { type Caller, requireScope, requireToolAccess } from '../http/credentials/authenticate.ts';
import type { Slots } from '../limits/slots.ts';
import type { ToolCalled } from '../metrics/gateway-metrics.ts';
import { callerScope } from './caller-scope.ts';
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
  /**
   * The caller with its current rights: a session's tools may have been narrowed for the rest of its run. D4:
   * throws `stale_epoch` when the token's epoch no longer holds the thread.
   */
  present(caller: Caller): Promise<Caller>;
  /** The rights with which plugin code that is not a tool (resources, prompts) calls tools. */
  outerCallOf(caller: Caller): OuterCall;
}

/** Creates the tool calls of one gateway. */
export function createToolCalls(deps: {
  dispatch: Dispatch;
  plugins: PluginHost;
  tokenSecrets: Pick<TokenSecrets, 'naming'>;
  audit: Audit;
  /** Places for calls in progress. */
  slots: Slots;
  tracing?: Tracing | undefined;
  /** Called when a call of an existing tool has ended. */
  onCalled?: (call: ToolCalled) => void;
}): ToolCalls {
  const { dispatch, plugins } = deps;
  const audit = createToolAudit(deps.audit);
  const traced = createToolTrace(deps.tracing ?? noTracing);
  /** Cached per caller object, so that a caller's list is found without comparing lists. */
  const views = new WeakMap<Caller, ToolView>();
  const viewOf = (caller: Caller): ToolView => {
    const known = views.get(caller);
    if (known) return known;
    const { scopes, tenant } = caller.principal;
    const tools = scopes.includes('tools') ? caller.tools : ofBus(caller.tools);
    const view = { tools, scopes, tenant, isSession: caller.session !== undefined };
    views.set(caller, view);
    return view;
  };
  const listsAsBytes = new WeakMap<readonly ToolDescriptor[], Buffer>();
  const defaultThreads = new WeakMap<Caller, string>();
  const defaultThreadOf = (caller: Caller): string => {
    const known = defaultThreads.get(caller);
    if (known !== undefined) return known;
    const threadId = defaultThreadIdOf(deps.tokenSecrets.naming, caller.principal);
    defaultThreads.set(caller, threadId);
    return threadId;
  };

  const sourceOf = async (caller: Caller, named: string | undefined) => {
    const { principal, session, authority } = caller;
    if (session) {
      if (authority?.outcome !== 'ok')
        throw new AppError(
          'stale_epoch',
          'No run is in progress on this thread, so its session may not call tools.',
        );
      const { runId, attempt } = authority;
      return { threadId: shownIdOf(session), taskId: session.taskId, runId, attempt };
    }
    if (named === undefined) return { threadId: defaultThreadOf(caller) };
    requireScope(caller, 'threads');
    await dispatch.threads.get(principal.tenant, named);
    return { threadId: named };
  };

  const serverFor = (caller: Caller, name: string) => {
    requireToolAccess(caller);
    if (!plugins.toolServer) throw new AppError('tool_not_found', `There is no tool "${name}".`);
    return plugins.toolServer;
  };
  const metaOf = async (caller: Caller, call: Omit<ToolCall, 'name' | 'arguments' | 'door'>) => ({
    ...call,
    ...(await sourceOf(caller, call.threadId)),
    principal: caller.principal,
  });

  /**
   * Returns the same object for all calls of a run while its tools are unchanged, so that `views` finds it.
   */
  const latest = new WeakMap<Caller, Caller>();
  const presented = (caller: Caller, authority: Extract<Authority, { outcome: 'ok' }>): Caller => {
    const known = latest.get(caller);
    if (known && (known.authority === authority || isDeepStrictEqual(known.authority, authority)))
      return known;
    const now = {
      ...caller,
      principal: { ...caller.principal, scopes: sessionScopes(caller, authority.scopes) },
      authority,
      tools: authority.tools ?? caller.tools,
    };
    latest.set(caller, now);
    return now;
  };

  const present: ToolCalls['present'] = async (caller) => {
    const { session } = caller;
    if (!session) return caller;
    const { threadId, epoch, owner } = session;
    const authority = await dispatch.authorityOf({ threadId, epoch, owner });
    if (authority.outcome === 'ok') return presented(caller, authority);
    if (authority.outcome === 'idle') return { ...caller, authority };
    throw new AppError(
      'stale_epoch',
      'This session no longer owns its thread: another session has taken over.',
    );
  };

  const viewNowOf = (caller: Caller) => async () => viewOf(await present(caller));

  const audited: ToolCalls['call'] = (caller, toolCall) =>
    audit(caller, toolCall, async (from) => {
      const { name, arguments: input, door: _, wire: __, ...call } = toolCall;
      const toolServer = serverFor(caller, name);
      const meta = await metaOf(caller, call);
      from(meta);
      const { tenant } = caller.principal;
      const run = () =>
        traced.plugin({ name, meta }, (meta) =>
          callerScope.run({ tenant, call: { meta, view: viewNowOf(caller) } }, () =>
            toolServer.call(name, { input, meta, view: viewOf(caller) }),
          ),
        );
      return caller.session && call.toolUseId && toolServer.runsOnce(name)
        ? once(dispatch.ledger, { ...caller.session, toolUseId: call.toolUseId }, run)
        : run();
    });
  const timed = async (
    { name, transport }: { name: string; transport: ToolCalled['transport'] },
    run: () => Promise<ToolOutcome>,
  ): Promise<ToolOutcome> => {
    const begunAt = performance.now();
    let isError = true;
    try {
      const outcome = await run();
      isError = !isInputRequired(outcome) && outcome.isError === true;
      return outcome;
    } finally {
      // Names that do not exist are no labels: callers could create any number of them.
      if (deps.onCalled && plugins.toolServer?.find(name))
        deps.onCalled({ tool: name, transport, isError, seconds: (performance.now() - begunAt) / 1000 });
    }
  };

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
      const transport = caller.session ? 'session' : toolCall.door;
      return timed({ name: toolCall.name, transport }, () =>
        traced.call(caller, toolCall, () => audited(caller, toolCall)),
      ).finally(giveBack);
    },
    async beforeTask(caller, { name, arguments: input, door: _, wire: __, ...call }) {
      const toolServer = serverFor(caller, name);
      const meta = await metaOf(caller, call);
      const { tenant } = caller.principal;
      return callerScope.run({ tenant, call: { meta, view: viewNowOf(caller) } }, () =>
        toolServer.beforeTask(name, { input, meta, view: viewOf(caller) }),
      );
    },
    outerCallOf(caller) {
      const { principal, session, authority } = caller;
      const run = authority?.outcome === 'ok' ? { runId: authority.runId, attempt: authority.attempt } : {};
      const source = session
        ? { threadId: shownIdOf(session), taskId: session.taskId, ...run }
        : { threadId: defaultThreadOf(caller) };
      return { meta: { ...source, principal }, view: viewNowOf(caller) };
    },
  };
}

/** The scopes of a session: those of its run's sender. Without `tools`, its list of tools is empty. */
const sessionScopes = ({ principal }: Caller, ofRun: readonly string[] | undefined) =>
  ofRun ? principal.scopes.filter((scope) => scope === 'tools' || ofRun.includes(scope)) : principal.scopes;

/** The id by which tools know the session's thread. */
const shownIdOf = ({ threadId, alias }: ThreadTokenClaims) => alias ?? threadId;

const busTools = `${busPluginName}__`;
/** The tools of a caller without the scope `tools`: at most those of the bus. */
const ofBus = (tools: readonly string[] | undefined): readonly string[] =>
  tools?.filter((name) => name.startsWith(busTools)) ?? [`${busTools}*`];

/**
 * Longest result that the ledger keeps, characters; of a longer one it keeps only that the call has ended.
 */
const maxKeptChars = 100_000;

const errorResult = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/**
 * Calls a tool that must not run twice. A repeat gets the first result, or an error if that result is
 * unknown.
 */
async function once(
  ledger: Ledger,
  { threadId, epoch, toolUseId }: { threadId: string; epoch: number; toolUseId: string },
  run: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const call = { threadId, epoch, toolUseId };
  const entry = await ledger.open(call);
  if (entry.outcome === 'done') return JSON.parse(entry.result) as ToolResult;
  if (entry.outcome === 'stale') throw new AppError('stale_epoch', 'This session no longer owns its thread.');
  if (entry.outcome === 'uncertain') {
    return errorResult(
      'Uncertain: this call was started before, and its outcome is unknown. Check whether it took effect before you try again.',
    );
  }
  const result = await run();
  if (isInputRequired(result)) return result; // does not happen: a session is never asked for input
  const text = JSON.stringify(result);
  const kept =
    text.length <= maxKeptChars
      ? text
      : JSON.stringify(errorResult('This call has already ended; its result was too long to be stored.'));
  await ledger.close(call, kept);
  return result;
}
