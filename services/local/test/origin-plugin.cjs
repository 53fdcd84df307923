/**
 * A plugin in the shape that plugins had before harness: CommonJS, a bare JSON Schema, message-first logging, an
 * `onCommand` hook, a name in camel case. It uses every hook and every part of the context, and remembers what it saw.
 */
'use strict';

let context;

const remember = async (what, seen) => {
  context.logger.info(`origin: ${what}`, { seen });
  await context.store.set(what, seen);
};

const tools = [
  {
    name: 'use_context',
    description: 'Uses everything that a context offers, and returns the results.',
    schema: {
      type: 'object',
      properties: { question: { type: 'string', description: 'For the model' } },
      required: ['question'],
    },
    async handler(ctx, input, meta) {
      await ctx.invoker.prewarm({ threadId: meta.threadId });
      await ctx.invoker.prewarm({ sessionId: 'ahead' });
      const streamed = [];
      const answer = await ctx.invoker.invoke(input.question, {
        sessionId: 'ahead',
        timeout: 60_000,
        onMessage: (message) => void streamed.push(message.type),
      });
      await ctx.store.set('gone', 1);
      await ctx.store.delete('gone');
      await ctx.broadcast('origin.used', { by: meta.threadId });
      const thread = await ctx.threads.get(meta.threadId);
      const history = await ctx.threads.history(meta.threadId, { limit: 5 });
      const time = await ctx.tools.call('time__current_time', {});
      return JSON.stringify({
        answer,
        streamed: streamed.length > 0,
        role: ctx.role,
        config: typeof ctx.config,
        thread: thread.threadId === meta.threadId,
        history: history.length,
        time: time.content[0].text.includes('UTC') || time.content[0].text.includes('GMT'),
        gone: (await ctx.store.get('gone')) ?? null,
        tenant: meta.principal.tenant,
        hasRun: meta.runId !== undefined,
      });
    },
  },
  {
    name: 'start_task',
    description: 'Hands a task to a sub-agent.',
    schema: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
    async handler(ctx, input, meta) {
      const { task } = await ctx.tasks.create({
        prompt: input.prompt,
        parentThreadId: meta.threadId,
        principal: meta.principal,
        runId: meta.runId,
        toolUseId: meta.toolUseId,
      });
      await ctx.tasks.checkin({ taskId: task.taskId, message: 'begun' });
      const ended = await ctx.tasks.wait(task.taskId, { timeoutMs: 60_000 });
      const same = await ctx.tasks.get(task.taskId);
      return `${same.taskId === task.taskId} ${ended.status}`;
    },
  },
  {
    name: 'tell_all',
    description: 'Tells what the hooks saw.',
    schema: {},
    async handler(ctx) {
      const names = ['started', 'message', 'before', 'after', 'created', 'completed', 'failed', 'broadcast'];
      const seen = await Promise.all(names.map(async (name) => [name, await ctx.store.get(name)]));
      return JSON.stringify(Object.fromEntries(seen));
    },
  },
];

module.exports = {
  default: {
    name: 'MyOldPlugin',
    version: '0.9',
    tools,
    register(ctx) {
      context = ctx;
      ctx.logger.warn('registered', { shape: 'origin' });
      return {
        onCommand: () => 'never called',
        onMessage: (threadId, role) => remember('message', [threadId, role]),
        onBeforeInvoke: async (threadId, prompt) => {
          await remember('before', threadId);
          return prompt.replace('rewritten by nobody', 'rewritten by a hook');
        },
        onAfterInvoke: (threadId, result) => remember('after', [threadId, result]),
        onTaskCreate: (threadId, taskId) => remember('created', [threadId, taskId]),
        onTaskComplete: (threadId, taskId, result) => remember('completed', [threadId, taskId, result]),
        onTaskFailed: (threadId, taskId, error) => remember('failed', [threadId, taskId, error.code]),
        onBroadcast: (event, data) => remember('broadcast', [event, data]),
      };
    },
    start: (ctx) => ctx.store.set('started', true),
    stop: (ctx) => ctx.logger.info('stopped'),
  },
};
