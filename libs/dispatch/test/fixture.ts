import { randomUUID } from 'node:crypto';
import { connectRedis, createLogger } from '@harness/runtime';
import { inject, onTestFinished } from 'vitest';
import { createDispatch, type Dispatch, type Limits } from '../src/index.ts';

/** A dispatch and its connections. */
export interface Bench {
  dispatch: Dispatch;
  redis: ReturnType<typeof connectRedis>;
  /** The connection on which the dispatch subscribes. */
  subscriber: ReturnType<typeof connectRedis>;
  /** Creates a worker's liveness key, as its heartbeat does; returns its `me`. */
  alive(workerId: string): Promise<string>;
  /** Deletes the liveness key. */
  dies(workerId: string): Promise<void>;
}

/** A dispatch on the real Redis of this test run, with its own key tag unless one is given. */
export async function openBench(
  limits: Partial<Limits> = {},
  {
    tag = randomUUID(),
    url = inject('redisUrl'),
    acks = 0,
  }: { tag?: string; url?: string; acks?: number } = {},
): Promise<Bench> {
  const logger = createLogger('test', 'silent');
  const redis = connectRedis(url, { logger, patience: 'wait' });
  const subscriber = connectRedis(url, { logger, patience: 'wait' });
  const dispatch = createDispatch({ redis, subscriber, logger, tag, limits, acks });
  const { keys } = dispatch;
  onTestFinished(async () => {
    await dispatch.close();
    redis.disconnect();
  });
  return {
    dispatch,
    redis,
    subscriber,
    async alive(workerId) {
      const me = `${workerId}#${randomUUID()}`;
      await redis.set(keys.of('w', workerId), me, 'PX', 60_000);
      await redis.sadd(keys.one('workers'), workerId);
      return me;
    },
    async dies(workerId) {
      await redis.del(keys.of('w', workerId));
    },
  };
}

/** Claims the thread, or fails the test. */
export async function hold({ dispatch }: Bench, threadId: string, me: string) {
  const claim = await dispatch.lease.claim(threadId, me);
  if (claim.outcome !== 'mine') throw new Error(`not claimed: ${claim.outcome}`);
  return claim.hold;
}

/** Begins the next turn, or fails the test. */
export async function beginTurn(bench: Bench, threadId: string, me: string) {
  const begin = await bench.dispatch.lease.begin(await hold(bench, threadId, me), randomUUID());
  if (!('turn' in begin)) throw new Error(`no turn: ${begin.outcome}`);
  return begin.turn;
}
