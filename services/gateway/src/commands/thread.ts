import { Model } from '@harness/contracts';
import type { Command } from '@harness/plugin-kit';
import { currentSender } from '../tools/caller-scope.ts';
import { toolsOfThread } from '../tools/thread-tools.ts';
import { builtIn, callOf, refused, table } from './command-call.ts';
import type { CommandDeps } from './command-deps.ts';

/** /clear, /status, /model and /prewarm. */
export const threadCommands = (deps: CommandDeps): Command[] => {
  const { dispatch } = deps;
  return [
    builtIn({
      name: 'clear',
      description: 'Starts a new thread; this one stays as it is',
      execute: () => ({ output: 'A new conversation begins.', action: 'clear' }),
    }),
    builtIn({
      name: 'status',
      description: 'Shows this thread and its session',
      async execute(_args, context) {
        const { tenant, threadId } = callOf(context);
        const [thread, session] = await Promise.all([
          dispatch.threads.get(tenant, threadId),
          dispatch.sessions.get(tenant, threadId),
        ]);
        const place = session.workerId === null ? '' : ` at ${session.workerId}`;
        const until = session.expiresAt === null ? '' : ` until ${session.expiresAt}`;
        return table([
          ['Thread', `${threadId} (${thread.state})`],
          ['Model', thread.model ?? 'the default'],
          ['Agent', thread.agent ?? 'none'],
          ['Skill', thread.skill ?? 'none'],
          ['Session', `${session.state}${place}${until}`],
          ['Tools', toolsLine(await toolsOfThread(deps, tenant, thread))],
        ]);
      },
    }),
    builtIn({
      name: 'model',
      description: 'Shows the model of this thread, or sets it',
      argumentHint: '[name | default]',
      async execute(args, context) {
        const { tenant, threadId } = callOf(context);
        if (args === '') return `The model is ${context.model ?? 'the default'}.`;
        if (args === 'default') {
          await dispatch.threads.update({ tenant, threadId }, { model: null }, await currentSender());
          return 'The model is the default from the next turn on.';
        }
        const model = Model.regex(/^\S+$/).safeParse(args);
        if (!model.success)
          return refused('A model’s name is one word of at most 200 characters, and no control characters.');
        await dispatch.threads.update({ tenant, threadId }, { model: args }, await currentSender());
        return `The model is ${args} from the next turn on.`;
      },
    }),
    builtIn({
      name: 'prewarm',
      description: 'Starts this thread’s session ahead of its next message',
      async execute(_args, context) {
        const { tenant, threadId } = callOf(context);
        const { state } = await dispatch.sessions.prewarm(tenant, threadId);
        return state === 'cold' ? 'The session has been requested.' : `The session is ${state}.`;
      },
    }),
  ];
};

/** How many names a line has. */
const mostNames = 12;

/** The names of tools, the first of many. */
const toolsLine = (names: readonly string[]): string =>
  names.length <= mostNames
    ? names.join(', ') || 'none'
    : `${names.length}: ${names.slice(0, mostNames).join(', ')}, …`;
