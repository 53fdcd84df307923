import type { PluginToolMeta } from '@harness/plugin-kit';

/** The resource of a delegated task. */
export const taskUriOf = (taskId: string): string => `harness://tasks/${taskId}`;

/** Whether the caller of a tool is the session of a thread, which gets messages; others must ask. */
export const isSession = ({ runId }: Pick<PluginToolMeta, 'runId'>): boolean => runId !== undefined;

/** How the caller of a tool learns how a task ends that it has delegated. */
export const followUpOf = (
  meta: Pick<PluginToolMeta, 'runId'>,
  { taskId, streamUrl }: { taskId: string; streamUrl: string },
): string =>
  isSession(meta)
    ? 'You will be notified when it ends.'
    : `You will not be notified: call delegation__wait_task {"taskId": "${taskId}"} for its result, subscribe to the resource ${taskUriOf(taskId)}, or follow the events at ${streamUrl}.`;
