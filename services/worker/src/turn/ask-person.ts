import type { ElicitationRequest, ElicitationResult } from '@anthropic-ai/claude-agent-sdk';
import { cleanText, cutText, jsonOf } from '@harness/contracts';
import type { Questions, Turn } from '@harness/dispatch';
import type { Emitter } from './emitter.ts';

/** Longest question, and longest schema of its answer, characters: a tool of another author writes them. */
const maxQuestionChars = 4_000;
const maxSchemaChars = 20_000;

/**
 * Asks the people who follow the thread with `answers=true` what a tool wants to know. Declines when there are none, when no
 * answer arrives in time, and when the schema is too large. Throws `unavailable`.
 */
export async function askPerson(
  { message, requestedSchema = {}, url, mode = 'form' }: ElicitationRequest,
  { turn, emitter, questions }: { turn: Turn; emitter: Emitter; questions: Questions },
  signal: AbortSignal,
): Promise<ElicitationResult> {
  const { threadId } = turn.hold;
  const isTooLarge = jsonOf(requestedSchema).length > maxSchemaChars || (url?.length ?? 0) > maxQuestionChars;
  if (isTooLarge || !(await questions.isAttended(threadId))) return { action: 'decline' };
  const questionId = await questions.open({ tenant: turn.tenant, threadId });
  emitter.push({
    type: 'agent.question',
    questionId,
    message: cutText(cleanText(message), maxQuestionChars),
    ...(mode === 'url' ? { url } : { schema: requestedSchema }),
  });
  const answer = await questions.answerTo({ threadId, questionId }, signal);
  const { action = 'decline', content } = answer ?? {};
  emitter.push({ type: 'agent.question_ended', questionId, action });
  return action === 'accept' && mode === 'form' ? { action, content: (content ?? {}) as never } : { action };
}
