import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';

/**
 * A worker's liveness: one key with a TTL, renewed every TTL/5 and stamped on the monotonic clock. `healthy()` is
 * false before the key can have expired, so a worker stops its turns before another takes its threads (D3). When it is
 * back, the worker is who it was: of its threads it has those that nobody took meanwhile (see `lease.look`).
 */
export interface Liveness {
  readonly workerId: string;
  /** workerId#incarnation, as owner of threads. */
  me(): string;
  healthy(): boolean;
  /** The next heartbeat, now: Redis may have lost the last one. */
  renew(): void;
  /** Deletes the key: others may take the threads at once. */
  end(): Promise<void>;
}

export interface LivenessOptions {
  workerId: string;
  ttlMs: number;
  /** Called once per loss of health, from the timer that notices. */
  onUnhealthy: () => void;
  /** Called after the first heartbeat that arrived after a loss of health. */
  onRecovered?: () => void;
  /** Called after each heartbeat that arrived. */
  onBeat?: () => void;
}

/** Part of the TTL kept as margin for a command under way and clock granularity. */
const marginShare = 0.2;

export async function startLiveness(
  deps: { redis: Redis; keys: Keys; logger: Log },
  { workerId, ttlMs, onUnhealthy, onRecovered, onBeat }: LivenessOptions,
): Promise<Liveness> {
  const { redis, keys, logger } = deps;
  const me = `${workerId}#${randomUUID()}`;
  let stamp = performance.now();
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
      // The TTL began no earlier than the command was sent.
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
      await redis.del(keys.of('w', workerId)).catch(() => undefined); // it expires by itself
    },
  };
}
