import { AppError, defaultThreadIdOf } from '@harness/contracts';
import type { Dispatch, Ledger } from '@harness/dispatch';
import type { PluginHost, PluginToolMeta, ToolDescriptor, ToolResult, ToolView } from '@harness/plugin-kit';
import type { Logger } from '@harness/runtime';
import { type Caller, requireScope } from './auth.ts';
import { createToolAudit } from './tool-audit.ts';

export interface ToolCall {
  name: string;
  door: 'mcp' | 'rest';
  arguments: unknown;
  /** A thread the caller names; only for keys, whose tenant must own it. */
  threadId?: string | undefined;
  toolUseId?: string | undefined;
  signal?: AbortSignal | undefined;
  progress?: PluginToolMeta['progress'] | undefined;
}

/** What REST and both eras of MCP do with tools. Where a call comes from is decided here, by the caller's credentials. */
export interface ToolCalls {
  list(caller: Caller): readonly ToolDescriptor[];
  /** Throws tool_not_found, forbidden, thread_not_found, stale_epoch; a tool's own failure is a result. */
  call(caller: Caller, call: ToolCall): Promise<ToolResult>;
  /** D4: throws `stale_epoch` when a session's token no longer speaks for its thread. */
  checkSession(caller: Caller): Promise<void>;
}

export function createToolCalls(deps: {
  dispatch: Dispatch;
  plugins: PluginHost;
  logger: Logger;
}): ToolCalls {
  const { dispatch, plugins } = deps;
  const audit = createToolAudit(deps.logger);
  const viewOf = ({ principal, session }: Caller): ToolView => ({
    tools: session?.tools,
    scopes: principal.scopes,
  });

  const authorityOf = async ({ session }: Caller) => {
    if (!session) return undefined;
    const authority = await dispatch.authorityOf(session.threadId, session.epoch);
    if (authority.outcome === 'ok' || authority.outcome === 'idle') return authority;
    throw new AppError(
      'stale_epoch',
      'This session no longer speaks for its thread: the thread has moved on.',
    );
  };
  const sourceOf = async (caller: Caller, named: string | undefined) => {
    const { principal, session } = caller;
    const authority = await authorityOf(caller);
    if (session) {
      if (authority?.outcome !== 'ok')
        throw new AppError('stale_epoch', 'No run is under way on this thread.');
      const { runId, attempt } = authority;
      return { threadId: session.threadId, taskId: session.taskId, runId, attempt };
    }
    if (named === undefined) return { threadId: defaultThreadIdOf(principal) };
    requireScope(caller, 'threads');
    await dispatch.threads.get(principal.tenant, named);
    return { threadId: named };
  };

  return {
    list: (caller) => plugins.toolServer?.list(viewOf(caller)) ?? [],
    async checkSession(caller) {
      await authorityOf(caller);
    },
    call: (caller, call) =>
      audit(caller, call, async (from) => {
        const { name, arguments: input, threadId, toolUseId, signal, progress } = call;
        requireScope(caller, 'tools');
        if (!plugins.toolServer) throw new AppError('tool_not_found', `There is no tool "${name}".`);
        const source = await sourceOf(caller, threadId);
        from(source);
        const meta = { ...source, principal: caller.principal, toolUseId, signal, progress };
        const { toolServer } = plugins;
        const run = () => toolServer.call(name, input, meta, viewOf(caller));
        return caller.session && toolUseId && toolServer.runsOnce(name)
          ? once(dispatch.ledger, { ...caller.session, toolUseId }, run)
          : run();
      }),
  };
}

/** Longest result that the ledger keeps, characters; of a longer one it knows only that the call has ended. */
const maxKeptChars = 100_000;

const told = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/** A call to a tool that must not run twice: a repeat gets the first answer, or the truth that nobody knows it. */
async function once(
  ledger: Ledger,
  { threadId, epoch, toolUseId }: { threadId: string; epoch: number; toolUseId: string },
  run: () => Promise<ToolResult>,
): Promise<ToolResult> {
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
  const text = JSON.stringify(result);
  const kept =
    text.length <= maxKeptChars
      ? text
      : JSON.stringify(told('This call has ended before; its answer was too long to be kept.'));
  await ledger.close(call, kept);
  return result;
}
