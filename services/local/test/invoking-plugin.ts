import type { InvokeMessage, InvokeOptions, PluginDefinition } from '@harness/plugin-kit';

/** Replaces a prompt `invoke {"prompt": …, "options": …}` by the response of `ctx.invoker` and its stream. */
export const plugin: PluginDefinition = {
  name: 'invoking',
  version: '1.0.0',
  register: (ctx) => ({
    async onBeforeInvoke(_threadId, prompt) {
      if (!prompt.startsWith('invoke ')) return prompt;
      const { prompt: question, options } = JSON.parse(prompt.slice('invoke '.length)) as {
        prompt: string;
        options?: InvokeOptions;
      };
      const seen: InvokeMessage[] = [];
      try {
        const text = await ctx.invoker.invoke(question, {
          ...options,
          onMessage: (message) => void seen.push(message),
        });
        const deltas = seen.filter((message) => message.type === 'delta');
        const whole = deltas.map((message) => message.text).join('') === text;
        return `say: ${JSON.stringify({ text, streamed: deltas.length > 1, whole })}`;
      } catch (error) {
        return `say: ${JSON.stringify({ code: (error as { code?: string }).code })}`;
      }
    },
  }),
};
