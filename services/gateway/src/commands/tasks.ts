import { CreateTask, shortened as cutOff, type Run, type Task } from '@harness/contracts';
import type { Command, CommandContext } from '@harness/plugin-kit';
import { acceptTask } from '../threads/accept-message.ts';
import { currentSender } from '../tools/caller-scope.ts';
import { builtIn, callOf, refused, table } from './command-call.ts';
import type { CommandDeps } from './command-deps.ts';

/** How many of the latest runs /cancel examines. */
const limit = 200;
const maxShown = 20;
const promptChars = 60;

/** /delegate, /tasks and /cancel. */
export const taskCommands = (deps: CommandDeps): Command[] => [
  builtIn({
    name: 'delegate',
    description: 'Delegates a task to a sub-agent; this thread is notified when it ends',
    argumentHint: '<prompt>',
    async execute(args, context) {
      const { tenant, threadId: parentThreadId } = callOf(context, 'tasks');
      const wish = CreateTask.safeParse({ prompt: args, parentThreadId });
      if (!wish.success) return refused('Describe the task: /delegate <prompt>');
      const { task } = await acceptTask(deps, { tenant, ...wish.data, sender: await currentSender() });
      return `Task ${task.taskId} is delegated to a sub-agent in thread ${task.threadId}.`;
    },
  }),
  builtIn({
    name: 'tasks',
    description: 'Lists the latest tasks of this thread',
    async execute(_args, context) {
      const { tenant, threadId } = callOf(context, 'tasks');
      const tasks = (await deps.dispatch.tasks.ofThread(tenant, threadId)).slice(0, maxShown);
      if (tasks.length === 0) return 'This thread has no tasks.';
      return `Tasks:\n${table(tasks.map((task) => [`${task.taskId}  ${stateOf(task)}`, shortened(task.prompt)]))}`;
    },
  }),
  builtIn({
    name: 'cancel',
    description: 'Cancels the running and waiting runs of this thread, or one task',
    argumentHint: '[runs | task id]',
    execute: (args, context) =>
      args === '' || args === 'runs' ? cancelRuns(deps, context) : cancelTask(deps, context, args),
  }),
];

async function cancelRuns({ dispatch }: CommandDeps, context: CommandContext): Promise<string> {
  const { tenant, threadId } = callOf(context);
  const { ownId } = await dispatch.threads.locate(tenant, threadId);
  const runs = (await dispatch.runs.list(ownId, { limit, offset: 0 })).filter(isOurs);
  // Newest first: a waiting run would otherwise start as soon as the running one is cancelled.
  for (const { runId } of runs) await dispatch.runs.cancel(tenant, threadId, runId);
  if (runs.length === 0) return 'No run is in progress.';
  return runs.length === 1 ? 'One run is cancelled.' : `${runs.length} runs are cancelled.`;
}

/** The user cannot cancel waiting system mail, such as a task's result or feedback. */
const isOurs = ({ status, kind }: Run): boolean =>
  status === 'running' || (status === 'pending' && kind === 'message');

async function cancelTask({ dispatch }: CommandDeps, context: CommandContext, taskId: string) {
  const { tenant } = callOf(context, 'tasks');
  const { status } = await dispatch.tasks.cancel(tenant, taskId);
  return status === 'cancelled'
    ? `Task ${taskId} is cancelled.`
    : `Task ${taskId} had already ended: ${status}.`;
}

const stateOf = ({ status, iteration, maxIterations }: Task) =>
  status === 'working' ? `working, iteration ${iteration} of ${maxIterations}` : status;

const shortened = (text: string) => {
  const [line = ''] = text.trim().split('\n', 1);
  return cutOff(line, promptChars);
};
