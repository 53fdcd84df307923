import { Redis, type RedisOptions } from 'ioredis';
import { atMostOncePerSecond } from './logs/at-most-once-per-second.ts';
import type { Logger } from './logs/logger.ts';
import { redisAddressOf } from './redis-address.ts';

export type { Redis } from 'ioredis';

/**
 * What a command does while Redis is unavailable.
 * `fail-fast`: it fails within 800 ms, so that a request can be answered with 503 (gateways).
 * `wait`: it waits for the connection, as blocking consumers must (workers, BullMQ).
 */
export type RedisPatience = 'fail-fast' | 'wait';

/** Longest wait for one command on a fail-fast connection, ms: a 503 must be sent within a second. */
const commandTimeoutMs = 800;

type Options = Omit<RedisOptions, 'replyMapping'>;

/**
 * A half-open connection never answers: it is closed after `socketTimeout` without data while a command is
 * pending. For `wait` that is longer than any blocking command.
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

/**
 * Opens a connection that reconnects by itself. `url`: as in redis-address.ts; throws ConfigError for an
 * invalid one.
 */
export function connectRedis(url: string, deps: { logger: Logger; patience: RedisPatience }): Redis {
  const options: Options = {
    ...patience[deps.patience],
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 1000),
    // After a fail-over the connection may lead to a read-only replica: reconnect and send the command again.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  };
  const address = redisAddressOf(url);
  const redis =
    typeof address === 'string' ? new Redis(address, options) : new Redis({ ...options, ...address });
  redis.on(
    'error',
    atMostOncePerSecond((error) => deps.logger.warn({ err: error }, 'redis: connection error')),
  );
  return redis;
}
