import { reviewPromptOf } from '@harness/contracts';
import { definePlugin, type TaskVerdict } from '@harness/plugin-kit';
import { z } from 'zod';

/** Longest wait for the reviewer, ms. */
const reviewLimitMs = 240_000;

/** Another, smaller model reviews the result of every delegated task. */
export const validation = definePlugin({
  name: 'validation',
  version: '1.0.0',
  register: (ctx) => ({
    async onTaskComplete(_threadId, taskId, result) {
      const task = await ctx.tasks.get(taskId);
      if (!task) return { accepted: false, feedback: 'The task is not known any more.' };
      const { iteration, maxIterations, prompt } = task;
      const model = typeof ctx.config.reviewModel === 'string' ? { model: ctx.config.reviewModel } : {};
      // One conversation per iteration: an earlier verdict must not sway the next.
      const sessionId = `review-${iteration}`;
      const answer = await ctx.invoker.invoke(reviewPromptOf({ iteration, maxIterations, prompt, result }), {
        ...model,
        sessionId,
        timeout: reviewLimitMs,
      });
      return parseVerdict(answer);
    },
  }),
});

const Verdict = z.discriminatedUnion('verdict', [
  z.strictObject({ verdict: z.literal('accepted') }),
  z.strictObject({ verdict: z.literal('rejected'), feedback: z.string().regex(/\S/) }),
]);

/** Strict on purpose: whatever is not exactly an acceptance is none. */
export function parseVerdict(answer: string): TaskVerdict {
  const unreadable: TaskVerdict = {
    accepted: false,
    feedback: `The reviewer gave no readable verdict, so the result is not accepted. It said: ${answer.slice(0, 500)}`,
  };
  try {
    const parsed = Verdict.safeParse(JSON.parse(answer.trim()));
    if (!parsed.success) return unreadable;
    return parsed.data.verdict === 'accepted'
      ? { accepted: true }
      : { accepted: false, feedback: parsed.data.feedback };
  } catch {
    return unreadable; // no JSON at all
  }
}
