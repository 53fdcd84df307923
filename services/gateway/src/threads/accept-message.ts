import type { CreateTask, Run, Task } from '@harness/contracts';
import type { NewMessage, Sender } from '@harness/dispatch';
import type { PluginLogger } from '@harness/plugin-kit';
import type { RouteDeps } from '../app-deps.ts';
import { callerScope } from '../tools/caller-scope.ts';

/**
 * Appends a caller's message to the thread's mailbox and runs the plugins' `message` hooks, once per
 * idempotency key. Throws like `runs.append`.
 */
export async function acceptMessage(
  {
    dispatch,
    plugins,
    logger,
  }: Pick<RouteDeps, 'dispatch' | 'plugins'> & { logger: Pick<PluginLogger, 'info'> },
  message: NewMessage,
): Promise<Run> {
  const { tenant, threadId, request } = message;
  const { run, created } = await dispatch.runs.append(message);
  logger.info({ threadId, runId: run.runId, created }, 'run accepted');
  if (created)
    await callerScope.run({ tenant }, () => plugins.hooks.message(threadId, 'user', request.input));
  return run;
}

/**
 * Creates a task for a caller outside a session and runs the plugins' `taskCreate` hooks, once per
 * idempotency key. Throws like `tasks.create`.
 */
export async function acceptTask(
  { dispatch, plugins }: Pick<RouteDeps, 'dispatch' | 'plugins'>,
  wish: CreateTask & {
    tenant: string;
    idempotencyKey?: string | undefined;
    sender: Sender;
  },
): Promise<{ task: Task; existing: boolean }> {
  const { tenant } = wish;
  const { task, existing } = await dispatch.tasks.create(wish);
  const { threadId, taskId } = task;
  if (!existing) await callerScope.run({ tenant }, () => plugins.hooks.taskCreate(threadId, taskId));
  return { task, existing };
}
