import { randomUUID } from 'node:crypto';
import { signThreadToken, type ThreadTokenClaims } from '@harness/contracts';
import { connectTestRedis, type Gateway, openFakeWorker, tokenSecret } from './fixture.ts';

/** A thread with a run in progress, and tokens of its session. */
export async function openRun({ dispatch }: Pick<Gateway, 'dispatch'>, redisUrl?: string) {
  const tenant = 'default';
  const { threadId } = (await dispatch.threads.create(tenant, {})).thread;
  await dispatch.runs.append({ tenant, threadId, request: { input: 'x' }, idempotencyKey: randomUUID() });
  const worker = await openFakeWorker(dispatch, connectTestRedis(redisUrl));
  const turn = await worker.begin(threadId);
  const { epoch } = turn.hold;
  const tokenOf = (claims: Partial<ThreadTokenClaims> = {}, secret = tokenSecret) =>
    signThreadToken({ threadId, tenant, epoch, ...claims }, secret);
  return { threadId, turn, epoch, tokenOf };
}
