import { randomUUID } from 'node:crypto';
import { AppError, derivedThreadId, type ThreadEvent } from '@harness/contracts';
import type { Dispatch } from '@harness/dispatch';
import type { InvokeOptions, Invoker } from '@harness/plugin-kit';
import { callerScope } from '../tools/caller-scope.ts';
import { createRunFollower } from './follow-run.ts';

const defaultTimeoutMs = 300_000;
/** Tenant of a plugin's request that no caller caused. */
const ownTenant = 'default';

/**
 * Creates `ctx.invoker` for a gateway, which runs no sessions: the prompt becomes a run, executed by a
 * worker, on a thread without tools, one per tenant, plugin and session key. The thread belongs to the tenant
 * whose call the plugin serves, so that no other tenant can read or share the conversation.
 */
export function createThreadInvoker(deps: {
  dispatch: Dispatch;
  namingSecret: string;
  plugin: string;
}): Invoker {
  const { plugin, namingSecret } = deps;
  const { threads, runs, sessions } = deps.dispatch;
  const follower = createRunFollower(deps.dispatch);
  const tenantNow = () => callerScope.getStore()?.tenant ?? ownTenant;
  const threadFor = async (options: InvokeOptions) => {
    const tenant = tenantNow();
    const key = options.threadId ?? options.sessionId ?? 'default';
    const threadId = derivedThreadId(namingSecret, 'invoke', tenant, plugin, key);
    await threads.ensure({ tenant, ownId: threadId }, { allowedTools: [], metadata: { plugin, key } });
    return { tenant, threadId };
  };
  const ask = async (prompt: string, options: InvokeOptions, signal: AbortSignal): Promise<string> => {
    const { tenant, threadId } = await threadFor(options);
    const request = { input: prompt, ...(options.model ? { model: options.model } : {}) };
    const { run } = await runs.append({ tenant, threadId, request, idempotencyKey: randomUUID() });
    const onEvent = ({ type, data }: ThreadEvent) => {
      const text = String(data.text ?? '');
      if (type === 'agent.message_delta') options.onMessage?.({ type: 'delta', text });
      if (type === 'agent.message') options.onMessage?.({ type: 'message', text });
    };
    const { status, result, error } = await follower.untilEnd({ tenant, run, signal, onEvent });
    if (status === 'success') return result ?? '';
    if (!signal.aborted) throw new AppError('model_error', error?.message ?? `The run ended as ${status}.`);
    await runs.cancel(tenant, threadId, run.runId);
    throw new AppError(
      'invoke_timeout',
      `The model did not answer within ${options.timeout ?? defaultTimeoutMs} ms, so the run was cancelled.`,
    );
  };
  return {
    invoke: (prompt, options = {}) =>
      ask(prompt, options, AbortSignal.timeout(options.timeout ?? defaultTimeoutMs)),
    async prewarm(options = {}) {
      const { threadId } = options;
      if (threadId !== undefined && (await sessions.tryPrewarm(tenantNow(), threadId))) return;
      const own = await threadFor(options);
      await sessions.prewarm(own.tenant, own.threadId);
    },
  };
}
