import {
  Redis as Client,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';
import { ConfigError } from './config.ts';
import { atMostOncePerSecond } from './logs/at-most-once-per-second.ts';
import type { Logger } from './logs/logger.ts';
import { redisAddressOf } from './redis-address.ts';

/** A connection to Redis. */
export type Redis = Client;

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

/** Longest wait for a connection to a server or a sentinel, ms. */
const connectTimeoutMs = 3_000;
/** Longest wait for a sentinel's answer, ms: a silent one is passed over, and the next one asked. */
const sentinelTimeoutMs = 500;
/** Until a connection that has ended connects again, ms. */
const restartMs = 100;

/** ioredis leaves its connections to sentinels without a listener for errors, and prints these to standard error. */
class QuietSentinels extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
  }
}
const { connectToSentinel } = SentinelConnector.prototype as unknown as {
  connectToSentinel(...args: unknown[]): Client;
};
Object.assign(QuietSentinels.prototype, {
  connectToSentinel(...args: unknown[]) {
    return connectToSentinel.apply(this, args).on('error', () => undefined);
  },
});

/**
 * A connection that only its owner can end. ioredis ends one for ever when the sentinels announce a fail-over while it asks a
 * sentinel for the primary.
 */
class LastingClient extends Client {
  #isClosing = false;

  constructor(options: Options) {
    super({ ...options, ...(options.sentinels && { Connector: QuietSentinels }) });
    this.on('end', () => {
      if (!this.#isClosing) setTimeout(() => this.#connectAgain(), restartMs).unref();
    });
  }

  #connectAgain() {
    if (!this.#isClosing && this.status === 'end') this.connect().catch(() => undefined); // emits the error, too
  }

  override disconnect(reconnect = false): void {
    this.#isClosing ||= !reconnect;
    super.disconnect(reconnect);
  }

  override quit(...args: Parameters<Client['quit']>): Promise<'OK'> {
    this.#isClosing = true;
    return super.quit(...args);
  }

  override duplicate(override?: Partial<RedisOptions>): Client {
    return new LastingClient({ ...this.options, ...override } as Options);
  }
}

/** Pauses between attempts to connect, or to find another server than a read-only one, ms: each twice the one before. */
const minPauseMs = 100;
const maxPauseMs = 1_000;

/**
 * When a connection connects again: after it was lost, and after READONLY. A fail-over may leave it with a read-only replica; it
 * then looks for the primary, after pauses that grow, and sends the command again. Between two attempts a fail-fast connection
 * stays with the replica: reads succeed, and a write fails with READONLY, the reason that callers need.
 */
function createReconnection(kind: RedisPatience): Pick<Options, 'retryStrategy' | 'reconnectOnError'> {
  let refusals = 0;
  let refusedAt = Number.NEGATIVE_INFINITY;
  return {
    reconnectOnError(error) {
      if (!error.message.startsWith('READONLY')) return false;
      const now = performance.now();
      const sinceMs = now - refusedAt;
      if (kind === 'fail-fast' && sinceMs < maxPauseMs) return false;
      if (sinceMs > 2 * maxPauseMs) refusals = 0;
      else if (sinceMs >= minPauseMs) refusals++; // the commands in progress are refused together
      refusedAt = now;
      return 2;
    },
    retryStrategy(times) {
      const searches = performance.now() - refusedAt < maxPauseMs ? refusals : 0;
      return Math.min(minPauseMs * 2 ** (times - 1 + searches), maxPauseMs);
    },
  };
}

/**
 * Opens a connection that reconnects by itself. `url`: as in redis-address.ts; throws ConfigError for an
 * invalid one.
 */
export function connectRedis(url: string, deps: { logger: Logger; patience: RedisPatience }): Redis {
  const options: Options = {
    ...patience[deps.patience],
    connectTimeout: connectTimeoutMs,
    sentinelCommandTimeout: sentinelTimeoutMs,
    ...createReconnection(deps.patience),
  };
  const address = redisAddressOf(url);
  const redis =
    typeof address === 'string'
      ? new Client(address, options)
      : new LastingClient({ ...options, ...address });
  const warnOf = (message: string) =>
    atMostOncePerSecond((error) => deps.logger.warn({ err: error }, message));
  redis.on('error', warnOf('redis: connection error'));
  redis.on('sentinelError', warnOf('redis: a sentinel gives no answer'));
  return redis;
}

/**
 * Resolves when Redis has the database of the connection. Throws ConfigError if it has not: the client would go on in
 * database 0, whose data may be another installation's.
 */
export async function requireDatabase(redis: Redis): Promise<void> {
  const { db = 0 } = redis.options;
  if (db === 0) return;
  await redis.select(db).catch((error: Error) => {
    throw new ConfigError(
      `REDIS_URL: Redis does not let this process use the database ${db}: ${error.message}.`,
    );
  });
}
