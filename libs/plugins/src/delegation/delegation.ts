/**
 * The built-in plugin `delegation`: the tools for sub-agents.
 *
 * This folder:
 *   task-results.ts how callers that are no sessions get a task's result
 *   task-files.ts   how an agent reads the files of its sub-agent
 */
import { maxTaskIterations, type TaskWorkspace } from '@harness/contracts';
import { definePlugin, type PluginDefinition, type PluginTool, type ToolResult } from '@harness/plugin-kit';
import { followUpOf, isSession, taskUriOf } from '../follow-up.ts';
import { type TaskFiles, taskFilesTool } from './task-files.ts';
import { getTask, taskResource, waitTask } from './task-results.ts';

/** Repeats the message in `structuredContent`, because the model sees that instead of the text. */
const messageResult = (message: string, fields: Record<string, unknown> = {}): ToolResult => ({
  content: [{ type: 'text', text: message }],
  structuredContent: { message, ...fields },
});

const delegate: PluginTool = {
  name: 'delegate',
  title: 'Delegate to a sub-agent',
  scope: 'tasks',
  description:
    'Hands a task to a sub-agent, which works on it in its own thread while you continue. Returns at once with a task id. ' +
    'Its result is reviewed; the answer says how you learn of its end. Give it everything it needs to know: it does not see this conversation.',
  schema: {
    type: 'object',
    properties: {
      prompt: {
        type: 'string',
        pattern: '\\S',
        maxLength: 200_000,
        description: 'The whole task, written for the sub-agent',
      },
      model: {
        type: 'string',
        minLength: 1,
        maxLength: 200,
        pattern: '^[^\\p{Cc}]*$',
        description: 'Model of the sub-agent; default: the model of this thread',
      },
      agent: {
        type: 'string',
        minLength: 1,
        maxLength: 64,
        description: 'Name of the agent profile that the sub-agent uses; default: none',
      },
      maxIterations: {
        type: 'integer',
        minimum: 1,
        maximum: maxTaskIterations,
        description: 'How often the result may be reviewed before it is accepted as it is; default 5',
      },
      target: {
        enum: ['fleet', 'bus'],
        description:
          'Who does the task: fleet = a sub-agent here (default); bus = an external worker that waits for tasks',
      },
      workspace: {
        enum: [true, false, 'empty'],
        description:
          'Files of a sub-agent: true = a copy of yours, as they were when your latest turn ended (default if you have files); "empty" = none to begin with; false = no workspace. Its own changes stay in its workspace; its result names them',
      },
    },
    required: ['prompt'],
    additionalProperties: false,
  },
  idempotent: true,
  async handler(ctx, input, meta) {
    const { prompt, model, agent, maxIterations, target, workspace } = input as {
      prompt: string;
      model?: string;
      agent?: string;
      maxIterations?: number;
      target?: 'fleet' | 'bus';
      workspace?: TaskWorkspace;
    };
    const { task, existing, streamUrl } = await ctx.tasks.create({
      prompt,
      model,
      agent,
      maxIterations,
      target,
      workspace,
      parentThreadId: meta.threadId,
      principal: meta.principal,
      runId: meta.runId,
      toolUseId: meta.toolUseId,
      attempt: meta.attempt,
    });
    const { taskId, threadId } = task;
    const doer = task.target === 'bus' ? 'an external worker, on the bus,' : 'a sub-agent';
    const message = `Task ${taskId} is delegated to ${doer} in thread ${threadId} (events: ${streamUrl}). ${followUpOf(meta, { taskId, streamUrl })}`;
    // For a client that supports MCP's tasks, the gateway replaces this result by the task that `_meta` names.
    return {
      ...messageResult(message, {
        taskId,
        threadId,
        streamUrl,
        existing,
        ...(!isSession(meta) && { resource: taskUriOf(taskId) }),
      }),
      _meta: { 'harness/taskId': taskId },
    };
  },
};

const checkin: PluginTool = {
  name: 'checkin',
  title: 'Check in',
  description:
    'Reports progress on the delegated task you are working on to the agent that delegated it. Use it for progress, not for the result: your last message is the result.',
  schema: {
    type: 'object',
    properties: {
      message: {
        type: 'string',
        pattern: '\\S',
        maxLength: 10_000,
        description: 'The progress, in a sentence or two',
      },
    },
    required: ['message'],
    additionalProperties: false,
  },
  idempotent: true,
  async handler(ctx, input, meta) {
    if (!meta.taskId) {
      return {
        ...messageResult('You are not working on a delegated task, so there is no agent to check in with.'),
        isError: true,
      };
    }
    await ctx.tasks.checkin({
      taskId: meta.taskId,
      message: String(input.message),
      toolUseId: meta.toolUseId,
    });
    return messageResult('Check-in sent');
  },
};

/** `delegate` starts a sub-agent, `checkin` reports its progress; `get_task` and `wait_task` are for callers that get no messages. */
export const delegation = definePlugin({
  name: 'delegation',
  version: '1.0.0',
  tools: [delegate, checkin, getTask, waitTask],
  resourceTemplates: [taskResource],
  register: () => ({}),
});

/** The same, for agents with files: `get_files` reads those of a sub-agent. */
export const delegationWith = (files: TaskFiles): PluginDefinition => ({
  ...delegation,
  tools: [...(delegation.tools ?? []), taskFilesTool(files)],
});
