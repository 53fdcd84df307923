import { reviewPromptOf } from '@harness/contracts';
import { definePlugin } from '@harness/plugin-kit';
import { parseVerdict, verdictSchema } from './verdict.ts';

/** Longest wait for the reviewer, ms. */
const reviewLimitMs = 240_000;

/** The built-in plugin `validation`: a model (HARNESS_REVIEW_MODEL) reviews the result of every delegated task. */
export const validation = definePlugin({
  name: 'validation',
  version: '1.0.0',
  register: (ctx) => ({
    async onTaskComplete(_threadId, taskId, result) {
      const task = await ctx.tasks.get(taskId);
      if (!task) return { accepted: false, feedback: 'The task no longer exists.' };
      const { iteration, maxIterations, prompt } = task;
      const model = typeof ctx.config.reviewModel === 'string' ? { model: ctx.config.reviewModel } : {};
      // One conversation per iteration, so that an earlier verdict does not influence the next one.
      const sessionId = `review-${iteration}`;
      const answer = await ctx.invoker.invoke(reviewPromptOf({ iteration, maxIterations, prompt, result }), {
        ...model,
        sessionId,
        timeout: reviewLimitMs,
        outputSchema: verdictSchema,
      });
      return parseVerdict(answer);
    },
  }),
});
