import { randomUUID } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import { type Answer, AppError, jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['answer-question'] });

/** Questions of a thread's session to the people who follow it. Every method throws `unavailable`. */
export interface Questions {
  /** A client that answers questions follows the thread (by its own id); counts for `attendMs`. */
  attend(threadId: string): Promise<void>;
  /** Whether such a client follows the thread now. */
  isAttended(threadId: string): Promise<boolean>;
  /** Opens a question; returns its id. */
  open(thread: { tenant: string; threadId: string }): Promise<string>;
  /**
   * Resolves with the answer, or with undefined: after 5 minutes, when no client attends, or when `signal` aborts. Then the
   * question is closed.
   */
  answerTo(
    question: { threadId: string; questionId: string },
    signal: AbortSignal,
  ): Promise<Answer | undefined>;
  /** Throws `not_found` when there is no such question (any more), `wrong_state` when it has an answer. */
  answer(question: { tenant: string; threadId: string; questionId: string }, answer: Answer): Promise<void>;
}

/** Longest time for an answer, ms. */
const answerLimitMs = 300_000;
/** A client counts for this long without being renewed, ms. */
const attendMs = 20_000;
const pollMs = 300;

/** Creates the questions. */
export function createQuestions(deps: { redis: Redis; keys: Keys; scripts: Scripts }): Questions {
  const { redis, keys, scripts } = deps;
  const attended = (threadId: string) => keys.of('attend', threadId);
  const isAttended = async (threadId: string) => (await reached(redis.exists(attended(threadId)))) === 1;
  return {
    async attend(threadId) {
      await reached(redis.set(attended(threadId), '1', 'PX', attendMs));
    },
    isAttended,
    async open({ tenant, threadId }) {
      const questionId = `que_${randomUUID().replaceAll('-', '')}`;
      const key = keys.of('question', questionId);
      const opening = redis.multi().hset(key, { tenant, threadId }).pexpire(key, answerLimitMs);
      await reached(opening.exec());
      return questionId;
    },
    async answerTo({ threadId, questionId }, signal) {
      const key = keys.of('question', questionId);
      const until = performance.now() + answerLimitMs;
      try {
        while (!signal.aborted && performance.now() < until) {
          const [answer, isThere] = await Promise.all([
            reached(redis.hget(key, 'answer')),
            isAttended(threadId),
          ]);
          if (answer) return JSON.parse(answer) as Answer;
          if (!isThere) return undefined;
          await after(pollMs, undefined, { signal }).catch(() => undefined);
        }
        return undefined;
      } finally {
        await redis.del(key).catch(() => undefined); // it expires anyway
      }
    },
    async answer({ tenant, threadId, questionId }, answer) {
      const { outcome } = await scripts.call<{ outcome: 'ok' | 'not_found' | 'answered' }>(
        lua['answer-question'],
        { tenant, threadId, questionId, answer: jsonOf(answer) },
      );
      if (outcome === 'not_found')
        throw new AppError(
          'not_found',
          `There is no open question ${questionId} on this thread: it has ended, or the id is wrong.`,
        );
      if (outcome === 'answered')
        throw new AppError('wrong_state', 'This question has an answer already, which stays.');
    },
  };
}
