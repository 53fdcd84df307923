import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';

/**
 * A worker's liveness: one key with a TTL, renewed every TTL/5 and measured on the monotonic clock.
 * `healthy()` turns false before the key can expire, so that a worker stops its turns before another takes
 * its threads (D3). After recovery the worker keeps its identity: it still owns the threads that no other
 * worker has claimed (see `lease.catchUp`).
 */
export interface Liveness {
  readonly workerId: string;
  /** workerId#incarnation, as the owner of threads. */
  me(): string;
  /** False once the key may soon expire: turns must stop. */
  healthy(): boolean;
  /** Sends a heartbeat now: Redis may have lost the last one. */
  renew(): void;
  /** Deletes the key, so that other workers may take the threads at once. */
  end(): Promise<void>;
}

/** Settings and callbacks of the heartbeat. */
export interface LivenessOptions {
  workerId: string;
  /** TTL of the key, ms. */
  ttlMs: number;
  /** Called once per loss of health, by the timer that detects it. */
  onUnhealthy: () => void;
  /** Called after the first successful heartbeat that follows a loss of health. */
  onRecovered?: () => void;
  /** Called after each successful heartbeat. */
  onBeat?: () => void;
}

/** Share of the TTL kept as a margin, for a command in progress and clock granularity. */
const marginShare = 0.2;

/** Sends the first heartbeat, then one every TTL/5; a failed one is logged. */
export async function startLiveness(
  deps: { redis: Redis; keys: Keys; logger: Log },
  { workerId, ttlMs, onUnhealthy, onRecovered, onBeat }: LivenessOptions,
): Promise<Liveness> {
  const { redis, keys, logger } = deps;
  const me = `${workerId}#${randomUUID()}`;
  let stamp = Number.NEGATIVE_INFINITY;
  let reported = false;
  let beating = false;
  const healthy = () => performance.now() - stamp < ttlMs * (1 - marginShare);

  const beat = async () => {
    if (beating) return;
    beating = true;
    const sentAt = performance.now();
    try {
      await redis.set(keys.of('w', workerId), me, 'PX', ttlMs);
      await redis.sadd(keys.one('workers'), workerId);
      // The TTL cannot have begun before the command was sent.
      stamp = sentAt;
      if (reported && healthy()) {
        reported = false;
        onRecovered?.();
      }
      onBeat?.();
    } catch (error) {
      logger.warn({ err: error }, 'liveness: heartbeat failed');
    } finally {
      beating = false;
    }
  };
  const watch = () => {
    if (healthy() || reported) return;
    reported = true;
    onUnhealthy();
  };

  await beat();
  const timer = setInterval(() => {
    watch();
    void beat();
  }, ttlMs / 5);
  return {
    workerId,
    me: () => me,
    healthy,
    renew: () => void beat(),
    async end() {
      clearInterval(timer);
      await redis.del(keys.of('w', workerId)).catch(() => undefined); // the key expires anyway
    },
  };
}
