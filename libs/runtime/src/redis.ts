import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from './logger.ts';
import { redisAddressOf } from './redis-address.ts';

export type { Redis } from 'ioredis';

/**
 * How a connection behaves while Redis is away.
 * `fail-fast`: a command fails within `commandTimeoutMs`, so that a request can answer 503 (gateways).
 * `wait`: a command waits for the connection to return, as blocking consumers must (workers, BullMQ).
 */
export type RedisPatience = 'fail-fast' | 'wait';

/** Longest wait for one command's answer on a fail-fast connection, ms: a 503 must leave within a second. */
const commandTimeoutMs = 800;

type Options = Omit<RedisOptions, 'replyMapping'>;

/**
 * A half-open connection answers nothing for ever: it is dropped when it has been silent for `socketTimeout` with a
 * command under way. For `wait` that is longer than any blocking command.
 */
const patience: Record<RedisPatience, Options> = {
  'fail-fast': {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    socketTimeout: 2 * commandTimeoutMs,
  },
  wait: { maxRetriesPerRequest: null, socketTimeout: 15_000 },
};

/** `url` as in redis-address.ts. Throws ConfigError for one that cannot be read. */
export function connectRedis(url: string, deps: { logger: Logger; patience: RedisPatience }): Redis {
  const options: Options = {
    ...patience[deps.patience],
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 1000),
    // A fail-over leaves us on a read-only replica: reconnect and send the command again.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  };
  const address = redisAddressOf(url);
  const redis =
    typeof address === 'string' ? new Redis(address, options) : new Redis({ ...options, ...address });
  redis.on(
    'error',
    onceInAWhile((error) => deps.logger.warn({ err: error }, 'redis: connection trouble')),
  );
  return redis;
}

/** An outage produces thousands of equal errors; one line a second is enough to see it. */
function onceInAWhile(report: (error: Error) => void): (error: Error) => void {
  let last = 0;
  return (error) => {
    if (Date.now() - last < 1000) return;
    last = Date.now();
    report(error);
  };
}
