import { CreateTask, shortened as cutOff, type Run, type Task } from '@harness/contracts';
import type { Command, CommandContext } from '@harness/plugin-kit';
import { acceptTask } from '../threads/accept-message.ts';
import { callerTools } from '../tools/caller-scope.ts';
import { builtIn, callOf, refused, table } from './command-call.ts';
import type { CommandDeps } from './command-deps.ts';

/** So many of the latest runs are looked through. */
const limit = 200;
const maxShown = 20;
const promptChars = 60;

/** /delegate, /tasks and /cancel. */
export const taskCommands = (deps: CommandDeps): Command[] => [
  builtIn({
    name: 'delegate',
    description: 'Hands a task to a sub-agent; this thread is told of its end',
    argumentHint: '<prompt>',
    async execute(args, context) {
      const { tenant, threadId: parentThreadId } = callOf(context, 'tasks');
      const wish = CreateTask.safeParse({ prompt: args, parentThreadId });
      if (!wish.success) return refused('Say what is to be done: /delegate <prompt>');
      const { task } = await acceptTask(deps, { tenant, ...wish.data, callerTools: await callerTools() });
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
    description: 'Cancels what is under way and waits on this thread, or one task',
    argumentHint: '[runs | task id]',
    execute: (args, context) =>
      args === '' || args === 'runs' ? cancelRuns(deps, context) : cancelTask(deps, context, args),
  }),
];

async function cancelRuns({ dispatch }: CommandDeps, context: CommandContext): Promise<string> {
  const { tenant, threadId } = callOf(context);
  const { ownId } = await dispatch.threads.locate(tenant, threadId);
  const runs = (await dispatch.runs.list(ownId, { limit, offset: 0 })).filter(isOurs);
  // Those that wait go first: otherwise one of them would begin where the running one has made room.
  for (const { runId } of runs) await dispatch.runs.cancel(tenant, threadId, runId);
  if (runs.length === 0) return 'Nothing is under way.';
  return runs.length === 1 ? 'One run is cancelled.' : `${runs.length} runs are cancelled.`;
}

/** Mail of the system that waits (a task's result, feedback) is nobody's message to take back. */
const isOurs = ({ status, kind }: Run): boolean =>
  status === 'running' || (status === 'pending' && kind === 'message');

async function cancelTask({ dispatch }: CommandDeps, context: CommandContext, taskId: string) {
  const { tenant } = callOf(context, 'tasks');
  const { status } = await dispatch.tasks.cancel(tenant, taskId);
  return status === 'cancelled'
    ? `Task ${taskId} is cancelled.`
    : `Task ${taskId} has ended before: ${status}.`;
}

const stateOf = ({ status, iteration, maxIterations }: Task) =>
  status === 'working' ? `working, iteration ${iteration} of ${maxIterations}` : status;

const shortened = (text: string) => {
  const [line = ''] = text.trim().split('\n', 1);
  return cutOff(line, promptChars);
};
