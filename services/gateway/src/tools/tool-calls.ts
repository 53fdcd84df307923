import { isDeepStrictEqual } from 'node:util';
import { AppError, defaultThreadIdOf, type ThreadTokenClaims } from '@harness/contracts';
import type { Authority, Dispatch, Ledger } from '@harness/dispatch';
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
import type { Logger } from '@harness/runtime';
import { type Caller, requireScope, requireToolAccess } from '../http/authenticate.ts';
import { callerScope } from './caller-scope.ts';
import { createToolAudit } from './tool-audit.ts';
import type { ToolCall } from './tool-call.ts';

/** What REST and both eras of MCP do with tools. Where a call comes from is decided here, by the caller's credentials. */
export interface ToolCalls {
  list(caller: Caller): readonly ToolDescriptor[];
  /** The same as JSON, made once. */
  listBytes(caller: Caller): Buffer;
  find(caller: Caller, name: string): ToolDescriptor | undefined;
  taskModeOf(name: string): PluginTool['task'];
  /**
   * Throws tool_not_found, forbidden, thread_not_found, stale_epoch, and capability_missing when the tool asks a caller
   * that cannot be asked; a tool's own failure is a result.
   */
  call(caller: Caller, call: ToolCall): Promise<ToolOutcome>;
  /** What the tool asks before its call becomes a task. Throws like `call`, and invalid_tool_input. */
  beforeTask(caller: Caller, call: ToolCall): Promise<InputRequired | undefined>;
  /**
   * The caller as it stands at this moment: a session may have fewer tools for the rest of its run.
   * D4: throws `stale_epoch` when its token no longer speaks for its thread.
   */
  present(caller: Caller): Promise<Caller>;
  /** For code of plugins that is no tool (resources, prompts): with which rights it calls tools in turn. */
  outerCallOf(caller: Caller): OuterCall;
}

export function createToolCalls(deps: {
  dispatch: Dispatch;
  plugins: PluginHost;
  tokenSecret: string;
  logger: Logger;
  /** Called when a call of a tool that exists has ended. */
  onCalled?: (call: { tool: string; isError: boolean; seconds: number }) => void;
}): ToolCalls {
  const { dispatch, plugins } = deps;
  const audit = createToolAudit(deps.logger);
  /** One for each caller that lasts: what it sees is then found without comparing lists. */
  const views = new WeakMap<Caller, ToolView>();
  const viewOf = (caller: Caller): ToolView => {
    const known = views.get(caller);
    if (known) return known;
    const { scopes } = caller.principal;
    const view = { tools: scopes.includes('tools') ? caller.tools : ofBus(caller.tools), scopes };
    views.set(caller, view);
    return view;
  };
  const listsAsBytes = new WeakMap<readonly ToolDescriptor[], Buffer>();
  const defaultThreads = new WeakMap<Caller, string>();
  const defaultThreadOf = (caller: Caller): string => {
    const known = defaultThreads.get(caller);
    if (known !== undefined) return known;
    const threadId = defaultThreadIdOf(deps.tokenSecret, caller.principal);
    defaultThreads.set(caller, threadId);
    return threadId;
  };

  const sourceOf = async (caller: Caller, named: string | undefined) => {
    const { principal, session, authority } = caller;
    if (session) {
      if (authority?.outcome !== 'ok')
        throw new AppError('stale_epoch', 'No run is under way on this thread.');
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

  /** The same object for all calls of a run whose tools have not changed: `views` finds what it sees. */
  const latest = new WeakMap<Caller, Caller>();
  const presented = (caller: Caller, authority: Extract<Authority, { outcome: 'ok' }>): Caller => {
    const known = latest.get(caller);
    if (isDeepStrictEqual(known?.authority, authority)) return known as Caller;
    const now = { ...caller, authority, tools: authority.tools ?? caller.tools };
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
      'This session no longer speaks for its thread: the thread has moved on.',
    );
  };

  const viewNowOf = (caller: Caller) => async () => viewOf(await present(caller));

  const audited: ToolCalls['call'] = (caller, toolCall) =>
    audit(caller, toolCall, async (from) => {
      const { name, arguments: input, door: _, ...call } = toolCall;
      const toolServer = serverFor(caller, name);
      const meta = await metaOf(caller, call);
      from(meta);
      const { tenant } = caller.principal;
      const run = () =>
        callerScope.run({ tenant, call: { meta, view: viewNowOf(caller) } }, () =>
          toolServer.call(name, { input, meta, view: viewOf(caller) }),
        );
      return caller.session && call.toolUseId && toolServer.runsOnce(name)
        ? once(dispatch.ledger, { ...caller.session, toolUseId: call.toolUseId }, run)
        : run();
    });
  const timed = async (name: string, run: () => Promise<ToolOutcome>): Promise<ToolOutcome> => {
    const begunAt = performance.now();
    let isError = true;
    try {
      const outcome = await run();
      isError = !isInputRequired(outcome) && outcome.isError === true;
      return outcome;
    } finally {
      // Only names that exist become labels: others are what callers make up.
      if (deps.onCalled && plugins.toolServer?.find(name))
        deps.onCalled({ tool: name, isError, seconds: (performance.now() - begunAt) / 1000 });
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
    call: (caller, toolCall) => timed(toolCall.name, () => audited(caller, toolCall)),
    async beforeTask(caller, { name, arguments: input, door: _, ...call }) {
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

/** The id by which tools know a session's thread. */
const shownIdOf = ({ threadId, alias }: ThreadTokenClaims) => alias ?? threadId;

const busTools = `${busPluginName}__`;
/** A key without the scope `tools` has at most these. */
const ofBus = (tools: readonly string[] | undefined): readonly string[] =>
  tools?.filter((name) => name.startsWith(busTools)) ?? [`${busTools}*`];

/** Longest result that the ledger keeps, characters; of a longer one it knows only that the call has ended. */
const maxKeptChars = 100_000;

const told = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/** A call to a tool that must not run twice: a repeat gets the first answer, or the truth that nobody knows it. */
async function once(
  ledger: Ledger,
  { threadId, epoch, toolUseId }: { threadId: string; epoch: number; toolUseId: string },
  run: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const call = { threadId, epoch, toolUseId };
  const entry = await ledger.open(call);
  if (entry.outcome === 'done') return JSON.parse(entry.result) as ToolResult;
  if (entry.outcome === 'stale') throw new AppError('stale_epoch', 'The thread has moved on.');
  if (entry.outcome === 'uncertain') {
    return told(
      'Uncertain: this call was begun before, and its outcome is unknown. Check whether it took effect before you try again.',
    );
  }
  const result = await run();
  if (isInputRequired(result)) return result; // a session is never asked, so none comes here
  const text = JSON.stringify(result);
  const kept =
    text.length <= maxKeptChars
      ? text
      : JSON.stringify(told('This call has ended before; its answer was too long to be kept.'));
  await ledger.close(call, kept);
  return result;
}
