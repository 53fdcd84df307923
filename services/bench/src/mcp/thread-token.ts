import { randomUUID } from 'node:crypto';
import { signThreadToken } from '@harness/contracts';
import { createDispatch, startLiveness } from '@harness/dispatch';
import { connectRedis, createLogger } from '@harness/runtime';

/** Creates a thread whose run this benchmark holds in progress, so that its token may call tools. */
export async function openThreadToken(
  redisUrl: string,
  secret: string,
): Promise<{ token: string; close(): Promise<void> }> {
  const logger = createLogger('bench', 'silent');
  const connect = () => connectRedis(redisUrl, { logger, patience: 'wait' });
  const [redis, subscriber] = [connect(), connect()];
  const dispatch = createDispatch({ redis, subscriber, logger });
  const workerId = `wrk_${randomUUID().replaceAll('-', '')}`;
  const liveness = await startLiveness(
    { redis, keys: dispatch.keys, logger },
    { workerId, ttlMs: 600_000, onUnhealthy: () => undefined },
  );
  const { thread } = await dispatch.threads.create('default', {});
  const { threadId } = thread;
  const append = { tenant: 'default', threadId, request: { input: 'x' }, idempotencyKey: threadId };
  await dispatch.runs.append(append);
  const claim = await dispatch.lease.claim(threadId, liveness.me());
  if (claim.outcome !== 'mine') throw new Error(`The thread was not claimed: ${claim.outcome}.`);
  const begun = await dispatch.lease.begin(claim.hold, randomUUID());
  if (!('turn' in begun)) throw new Error(`No turn was begun: ${begun.outcome}.`);
  const { epoch } = begun.turn.hold;
  return {
    token: await signThreadToken({ threadId, tenant: 'default', epoch }, secret),
    async close() {
      await dispatch.threads.delete('default', threadId);
      await liveness.end();
      await dispatch.close();
      redis.disconnect();
    },
  };
}
