import type { Command } from '@harness/plugin-kit';
import { currentSender } from '../tools/caller-scope.ts';
import { toolsOfThread } from '../tools/thread-tools.ts';
import { builtIn, callOf, refused } from './command-call.ts';
import type { CommandDeps } from './command-deps.ts';

/** /agent: shows or sets the agent of the thread. */
export const agentCommand = (deps: CommandDeps): Command => {
  const { dispatch } = deps;
  return builtIn({
    name: 'agent',
    description: 'Shows the agent of this thread and all agents, or sets it',
    argumentHint: '[name | none]',
    async execute(args, context) {
      const { activeAgent, agentNames } = context;
      const { tenant, threadId } = callOf(context);
      if (args === '') {
        const known = agentNames.length === 0 ? 'There are none.' : `There are: ${agentNames.join(', ')}.`;
        if (activeAgent === undefined) return `This thread has no agent. ${known}`;
        const tools = await toolsOfThread(deps, tenant, await dispatch.threads.get(tenant, threadId));
        return `The agent is "${activeAgent}". ${known}\nTools of this thread: ${tools.join(', ') || 'none'}`;
      }
      if (args === 'none') {
        await dispatch.threads.update({ tenant, threadId }, { agent: null }, await currentSender());
        return 'This thread has no agent from its next turn on.';
      }
      if (!agentNames.includes(args)) return refused(`There is no agent "${args}". /agent lists all.`);
      await dispatch.threads.update({ tenant, threadId }, { agent: args }, await currentSender());
      return `The agent is "${args}" from the next turn on; /agent none ends it.`;
    },
  });
};
