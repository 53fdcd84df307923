import type { ElicitationRequest, ElicitationResult } from '@anthropic-ai/claude-agent-sdk';
import type { Questions, Turn } from '@harness/dispatch';
import type { Emitter } from './emitter.ts';

/** Asks the person who follows the thread what a tool wants to know. Declines when nobody does, or nobody answers in time. */
export async function askPerson(
  { message, requestedSchema, url, mode = 'form' }: ElicitationRequest,
  { turn, emitter, questions }: { turn: Turn; emitter: Emitter; questions: Questions },
  signal: AbortSignal,
): Promise<ElicitationResult> {
  const { threadId } = turn.hold;
  if (!(await questions.isAttended(threadId))) return { action: 'decline' };
  const questionId = await questions.open({ tenant: turn.tenant, threadId });
  emitter.push({
    type: 'agent.question',
    questionId,
    message,
    ...(mode === 'url' ? { url } : { schema: requestedSchema ?? {} }),
  });
  const answer = await questions.answerTo({ threadId, questionId }, signal);
  const { action = 'decline', content } = answer ?? {};
  emitter.push({ type: 'agent.question_ended', questionId, action });
  return action === 'accept' && mode === 'form' ? { action, content: (content ?? {}) as never } : { action };
}
