import { randomUUID } from 'node:crypto';
import { AppError } from '@harness/contracts';
import type { Redis, RedisOptions } from 'ioredis';
import type { Keys } from './keys.ts';
import type { Log } from './log.ts';
import { troubleOf } from './reached.ts';

/** Tests whether Redis takes writes: one tiny write a second, independent of how often `trouble` is read. */
export interface WriteProbe {
  /**
   * Why the last write failed: `unavailable`, with Redis's own error code in `details.redis` (OOM, MISCONF,
   * READONLY, …) if it answered. Undefined while writes succeed, and before the first one has ended.
   */
  trouble(): AppError | undefined;
  /** Resolves after the first successful write. */
  accepted: Promise<void>;
  close(): void;
}

/** How often to write, and whom to notify. */
export interface WriteProbeOptions {
  /** Pause between two writes, ms. Default 1,000. */
  everyMs?: number;
  /** Called after each successful write, with its round-trip time, seconds. */
  onWritten?: (seconds: number) => void;
}

/** A write that takes longer counts as failed, ms. */
const limitMs = 1_000;
/** Until then a process starts, ms. */
const startMs = 5_000;
/** TTL of the key, ms: nothing is left of a test write, also in the data of a release that this one refuses. */
const keptMs = 1;

/**
 * Starts the test writes, on a separate connection: the shared one repeats what a read-only Redis refuses, so
 * it never sees the reason, and a write there would queue behind others.
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
    // After a fail-over, reconnect to find the new primary, but do not repeat the command: its refusal is the
    // finding.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
  const connection = deps.redis.duplicate(options);
  connection.on('error', () => undefined); // the shared connection logs it
  const key = deps.keys.of('probe', randomUUID());
  const accepted = Promise.withResolvers<void>();
  const startedAt = performance.now();
  let hasWritten = false;
  let trouble: AppError | undefined;
  let logged: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  // A process that starts on a busy machine may not hear Redis in time: that is no news for the log.
  const isBusyStart = ({ details }: AppError) =>
    !hasWritten && details === undefined && performance.now() - startedAt < startMs;
  const note = (found: AppError | undefined) => {
    trouble = found;
    if (found?.message === logged || (found && isBusyStart(found))) return;
    logged = found?.message;
    if (found) deps.logger.warn({ err: found }, 'redis takes no writes');
    else deps.logger.info({}, 'redis takes writes again');
  };
  const write = async () => {
    const sentAt = performance.now();
    try {
      await connection.set(key, '1', 'PX', keptMs);
      onWritten?.((performance.now() - sentAt) / 1000);
      hasWritten = true;
      note(undefined);
      accepted.resolve();
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
    accepted: accepted.promise,
    close() {
      closed = true;
      clearTimeout(timer);
      connection.disconnect();
    },
  };
}

/**
 * The `unavailable` error for a failed test write; `details.redis` is the error code of Redis, if it
 * answered.
 */
export function refusalOf(error: Error): AppError {
  const { code, what = 'Redis refuses writes' } = troubleOf(error);
  const message = code === undefined ? `${what}.` : `${what} (${code}).`;
  return new AppError('unavailable', message, code === undefined ? {} : { details: { redis: code } });
}
