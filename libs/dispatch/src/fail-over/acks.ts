/**
 * Waits until replicas have a write before its outcome is reported, so that a fail-over of Redis cannot take
 * back what was reported.
 *
 * WAIT blocks its connection, so it has a separate one. There, a marker is written after the writes that it
 * covers: replication keeps the order, so a replica that has the marker has those writes. This holds only if
 * both connections wrote to the same process, and its data had one history from before the write until after
 * the WAIT; otherwise there is no ack. Writes within about a millisecond share one marker and one WAIT.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { AppError } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { unavailable } from '../redis/reached.ts';
import { infoField, type RedisServer, type ServerWatch, watchServer } from './redis-server.ts';

/** Confirmation by replicas, for writes whose outcome is reported. */
export interface Acks {
  /**
   * Performs the write and resolves with its result once the replicas have it, also when it wrote nothing
   * because it is a repeat. Throws the error of the write, or `unavailable` when the replicas have not
   * confirmed in time: then the write may or may not last, and a repeat decides.
   */
  acknowledged<T>(write: () => Promise<T>): Promise<T>;
  /** Adds a listener that is called for each write that the replicas did not confirm. */
  onMissing(listener: () => void): void;
  close(): void;
}

/** For one Redis without replicas: nothing to wait for. */
export const noAcks: Acks = {
  acknowledged: (write) => write(),
  onMissing: () => undefined,
  close: () => undefined,
};

/** Writes within this time share a marker, ms. */
const gatherMs = 1;
/** Longest wait for the replicas, ms: a refusal must be sent within about a second. */
const waitMs = 500;
/** Margin for the reply to WAIT, ms. */
const answerMarginMs = 300;

interface Waiting {
  before: RedisServer;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * `writer`: watches the connection of the writes. `count`: number of replicas that must confirm, at least 1.
 */
export function createAcks(deps: {
  redis: Redis;
  writer: ServerWatch;
  keys: Keys;
  count: number;
  logger: Log;
}): Acks {
  const { redis, writer, keys, count, logger } = deps;
  const own = redis.duplicate({
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: waitMs + answerMarginMs,
    socketTimeout: 2 * (waitMs + answerMarginMs),
  });
  own.on('error', () => undefined); // the connection of the writes logs it
  // The server behind this connection; its replication id is read again with each marker.
  let known: RedisServer | undefined;
  watchServer(own, (server) => {
    known = server;
  });
  own.on('close', () => {
    known = undefined;
  });
  let waiting: Waiting[] = [];
  let isRunning = false;
  const listeners = new Set<() => void>();
  let wasMissing = false;

  /** `missing`: why the replicas have not confirmed the write. */
  const settle = ({ resolve, reject }: Waiting, missing?: AppError) => {
    if (missing) for (const listener of listeners) listener();
    if (missing && !wasMissing) logger.warn({ err: missing }, 'redis: writes are not acknowledged');
    if (!missing && wasMissing) logger.info({}, 'redis: writes are acknowledged again');
    wasMissing = missing !== undefined;
    if (missing) reject(missing);
    else resolve();
  };

  /** Writes a marker and waits for the replicas. Throws when Redis does not answer. */
  const mark = async (): Promise<{ confirmed: number; server: RedisServer }> => {
    const { runId } = known ?? noConnection();
    const pipeline = own.pipeline().set(keys.one('ack'), '1').wait(count, waitMs).info('replication');
    const [set, wait, info] = ((await pipeline.exec()) ?? []).map(replyOf);
    if (set !== 'OK') throw new Error('Redis did not write the marker for WAIT.');
    const server = { runId, replicationId: infoField(String(info), 'master_replid') };
    if (known?.runId === runId) known = server;
    return { confirmed: Number(wait), server };
  };

  const run = async () => {
    isRunning = true;
    await after(gatherMs);
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        const { confirmed, server } = await mark();
        for (const one of batch) {
          if (!isSame(one.before, server)) settle(one, unavailable('Redis failed over during the write'));
          else if (confirmed < count) settle(one, unavailable(tooFew(confirmed, count)));
          else settle(one);
        }
      } catch (cause) {
        const error = unavailable('Redis does not answer', cause as Error);
        for (const one of batch) settle(one, error);
      }
    }
    isRunning = false;
  };

  const confirmed = (before: RedisServer) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ before, resolve, reject });
      if (!isRunning) void run();
    });

  return {
    async acknowledged(write) {
      const history = known?.replicationId;
      if (history === undefined)
        throw unavailable('The connection that waits for the replicas of Redis is not ready');
      const answer = await write();
      // Read at once, so that it is the connection that brought the reply.
      const written = await writer.server().catch((cause) => {
        throw unavailable('Redis does not answer', cause);
      });
      await confirmed({ runId: written.runId, replicationId: history });
      return answer;
    },
    onMissing: (listener) => void listeners.add(listener),
    close: () => own.disconnect(),
  };
}

const isSame = (one: RedisServer, other: RedisServer) =>
  one.runId === other.runId && one.replicationId === other.replicationId;

const tooFew = (confirmed: number, count: number) =>
  `Only ${confirmed} of the ${count} required replicas of Redis confirmed the write in time`;

function noConnection(): never {
  throw new Error('Redis is not connected.');
}

function replyOf([error, value]: [Error | null, unknown]): unknown {
  if (error) throw error;
  return value;
}
