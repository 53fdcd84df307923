import { randomUUID } from 'node:crypto';
import { AppError } from '@harness/contracts';
import type { Redis, RedisOptions } from 'ioredis';
import type { Keys } from './keys.ts';
import type { Log } from './log.ts';
import { troubleOf } from './reached.ts';

/** Whether Redis takes writes: one tiny write a second, however often anybody asks. */
export interface WriteProbe {
  /**
   * Why Redis did not take the last write: `unavailable`, with Redis's own code in `details.redis` (OOM, MISCONF,
   * READONLY, …) where it answered. Undefined while it takes them, and before the first write has ended.
   */
  trouble(): AppError | undefined;
  close(): void;
}

export interface WriteProbeOptions {
  /** From the end of one write to the next, ms; 1,000 unless given. */
  everyMs?: number;
  /** Called after each write that Redis took, with the time from sending it to its answer, seconds. */
  onWritten?: (seconds: number) => void;
}

/** A write that takes longer has failed, ms. */
const limitMs = 1_000;
/** The key outlives some missed writes, and goes when its process has gone, ms. */
const keptMs = 60_000;

/**
 * Has a connection of its own: the shared one reconnects and repeats what a read-only Redis refuses, and so never hears
 * why; and a write there waits behind those of others.
 */
export function startWriteProbe(
  deps: { redis: Redis; keys: Keys; logger: Log },
  { everyMs = 1_000, onWritten }: WriteProbeOptions = {},
): WriteProbe {
  const options: Omit<RedisOptions, 'replyMapping'> = {
    enableOfflineQueue: true,
    maxRetriesPerRequest: 0,
    commandTimeout: limitMs,
    socketTimeout: 2 * limitMs,
    // After a fail-over this connection looks for the new primary, too; the refusal itself is what is wanted here.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
  const connection = deps.redis.duplicate(options);
  connection.on('error', () => undefined); // the shared connection logs the same
  const key = deps.keys.of('probe', randomUUID());
  let trouble: AppError | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const note = (found: AppError | undefined) => {
    if (found?.message !== trouble?.message) {
      if (found) deps.logger.warn({ err: found }, 'redis takes no writes');
      else deps.logger.info({}, 'redis takes writes again');
    }
    trouble = found;
  };
  const write = async () => {
    const sentAt = performance.now();
    try {
      await connection.set(key, '1', 'PX', keptMs);
      onWritten?.((performance.now() - sentAt) / 1000);
      note(undefined);
    } catch (error) {
      if (!closed) note(refusalOf(error as Error));
    }
    if (closed) return;
    timer = setTimeout(write, everyMs);
    timer.unref();
  };
  void write();
  return {
    trouble: () => trouble,
    close() {
      closed = true;
      clearTimeout(timer);
      connection.disconnect();
    },
  };
}

/** `unavailable` for whatever a probe of Redis failed with; Redis's own code, where it answered, is `details.redis`. */
export function refusalOf(error: Error): AppError {
  const { code, what = 'Redis refuses writes' } = troubleOf(error);
  const message = code === undefined ? `${what}.` : `${what} (${code}).`;
  return new AppError('unavailable', message, code === undefined ? {} : { details: { redis: code } });
}
