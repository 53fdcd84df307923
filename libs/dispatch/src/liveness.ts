import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Keys } from './keys.ts';
import type { Log } from './log.ts';

/**
 * A worker's liveness: one key with a TTL, renewed every TTL/5 and stamped on the monotonic clock. `healthy()` is
 * false before the key can have expired, so a worker stops itself before another takes its threads (D3).
 * After that it must end its sessions and call `reborn()`: a new incarnation, which owns nothing.
 */
export interface Liveness {
  readonly workerId: string;
  /** workerId#incarnation, as owner of threads. */
  me(): string;
  healthy(): boolean;
  reborn(): void;
  /** Deletes the key: others may take the threads at once. */
  end(): Promise<void>;
}

export interface LivenessOptions {
  workerId: string;
  ttlMs: number;
  /** Called once per loss of health, from the timer that notices. */
  onUnhealthy: () => void;
  /** Called after each heartbeat that arrived. */
  onBeat?: () => void;
}

/** Part of the TTL kept as margin for a command under way and clock granularity. */
const marginShare = 0.2;

export async function startLiveness(
  deps: { redis: Redis; keys: Keys; logger: Log },
  { workerId, ttlMs, onUnhealthy, onBeat }: LivenessOptions,
): Promise<Liveness> {
  const { redis, keys, logger } = deps;
  let incarnation = randomUUID();
  let stamp = performance.now();
  let reported = false;
  let beating = false;
  const me = () => `${workerId}#${incarnation}`;
  const healthy = () => performance.now() - stamp < ttlMs * (1 - marginShare);

  const beat = async () => {
    if (beating) return;
    beating = true;
    const sentAt = performance.now();
    const sentAs = me();
    try {
      await redis.set(keys.of('w', workerId), sentAs, 'PX', ttlMs);
      await redis.sadd(keys.one('workers'), workerId);
      // The TTL began no earlier than the command was sent.
      if (sentAs === me()) stamp = sentAt;
      onBeat?.();
    } catch (error) {
      logger.warn({ err: error }, 'liveness: heartbeat failed');
    } finally {
      beating = false;
    }
  };
  const watch = () => {
    if (healthy()) reported = false;
    else if (!reported) {
      reported = true;
      onUnhealthy();
    }
  };

  await beat();
  const timer = setInterval(() => {
    watch();
    void beat();
  }, ttlMs / 5);
  return {
    workerId,
    me,
    healthy,
    reborn() {
      incarnation = randomUUID();
      stamp = Number.NEGATIVE_INFINITY; // healthy again only after the first beat as the new incarnation
    },
    async end() {
      clearInterval(timer);
      await redis.del(keys.of('w', workerId)).catch(() => undefined); // it expires by itself
    },
  };
}
