/** Questions of a thread's session to the people who follow it. */
import { expect, test } from 'vitest';
import { openBench } from '../fixture.ts';

const forever = new AbortController().signal;

test('the first answer is stored; another tenant finds no question', async () => {
  const { dispatch } = await openBench();
  const { questions } = dispatch;
  const { threadId } = (await dispatch.threads.create('acme', { threadId: 'chat' })).thread;
  const { ownId } = await dispatch.threads.locate('acme', threadId);
  await questions.attend(ownId);
  const questionId = await questions.open({ tenant: 'acme', threadId: ownId });
  const answer = { action: 'accept' as const, content: { city: 'Rome' } };

  for (const stranger of [
    { tenant: 'umbrella', threadId, questionId },
    { tenant: 'acme', threadId: 'another', questionId },
    { tenant: 'acme', threadId, questionId: 'que_0' },
  ])
    await expect(questions.answer(stranger, answer)).rejects.toMatchObject({ code: 'not_found' });
  await questions.answer({ tenant: 'acme', threadId, questionId }, answer);
  await expect(
    questions.answer({ tenant: 'acme', threadId, questionId }, { action: 'decline' }),
  ).rejects.toMatchObject({ code: 'wrong_state' });
  expect(await questions.answerTo({ threadId: ownId, questionId }, forever)).toEqual(answer);
  // It is closed with its answer.
  await expect(questions.answer({ tenant: 'acme', threadId, questionId }, answer)).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('without a client that answers questions, or after the turn, there is no answer', async () => {
  const { dispatch, redis } = await openBench();
  const { questions } = dispatch;
  const { threadId } = (await dispatch.threads.create('acme', {})).thread;
  const ask = async (signal: AbortSignal) => {
    const questionId = await questions.open({ tenant: 'acme', threadId });
    return questions.answerTo({ threadId, questionId }, signal);
  };
  expect(await questions.isAttended(threadId)).toBe(false);
  expect(await ask(forever)).toBeUndefined();

  await questions.attend(threadId);
  expect(await questions.isAttended(threadId)).toBe(true);
  const turn = new AbortController();
  const asked = ask(turn.signal);
  turn.abort();
  expect(await asked).toBeUndefined();

  const leaving = ask(forever);
  await redis.del(dispatch.keys.of('attend', threadId));
  expect(await leaving).toBeUndefined();
});
