/**
 * Waits until replicas have what was written, so that a fail-over of Redis takes nothing back that somebody was told.
 *
 * WAIT blocks its connection, so it has one of its own. There a marker is written after the writes that it stands for:
 * replication keeps the order, so a replica that has the marker has them. That holds only if both connections wrote to
 * the same process, and its data kept one history from before the write until after the WAIT; else there is no ack. What
 * comes within about a millisecond shares one marker and one WAIT.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Keys } from '../redis/keys.ts';
import { unavailable } from '../redis/reached.ts';
import { infoField, type RedisServer, type ServerWatch, watchServer } from './redis-server.ts';

/** Confirmation by replicas, for the writes whose outcome somebody is told. */
export interface Acks {
  /**
   * Does the write and resolves with its answer once the replicas have it, also when it wrote nothing because it is a
   * repeat. Throws what the write throws; `unavailable` when the replicas have not confirmed it in time: then it may or may
   * not last, and a repeat finds out.
   */
  acknowledged<T>(write: () => Promise<T>): Promise<T>;
  close(): void;
}

/** One Redis keeps what it says it keeps: nothing to wait for. */
export const noAcks: Acks = { acknowledged: (write) => write(), close: () => undefined };

/** Writes that come within this share a marker, ms. */
const gatherMs = 1;
/** Longest wait for the replicas, ms: a refusal must leave within a second or so. */
const waitMs = 500;
const answerMarginMs = 300;

interface Waiting {
  before: RedisServer;
  resolve(): void;
  reject(error: Error): void;
}

/** `writer`: the connection of the writes; `count`: how many replicas must confirm, at least 1. */
export function createAcks(deps: { redis: Redis; writer: ServerWatch; keys: Keys; count: number }): Acks {
  const { redis, writer, keys, count } = deps;
  const own = redis.duplicate({
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: waitMs + answerMarginMs,
    socketTimeout: 2 * (waitMs + answerMarginMs),
  });
  own.on('error', () => undefined); // the other connection tells of it
  // Of the server that this connection reaches; the replication id is asked again with each marker.
  let known: RedisServer | undefined;
  watchServer(own, (server) => {
    known = server;
  });
  own.on('close', () => {
    known = undefined;
  });
  let waiting: Waiting[] = [];
  let isRunning = false;

  /** Writes a marker and waits for it. Throws when Redis does not answer. */
  const mark = async (): Promise<{ confirmed: number; server: RedisServer }> => {
    const { runId } = known ?? noConnection();
    const pipeline = own.pipeline().set(keys.one('ack'), '1').wait(count, waitMs).info('replication');
    const [set, wait, info] = ((await pipeline.exec()) ?? []).map(replyOf);
    if (set !== 'OK') throw new Error('The marker was not written.');
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
          if (!isSame(one.before, server)) one.reject(unavailable('Redis has failed over meanwhile'));
          else if (confirmed < count) one.reject(unavailable(missing(confirmed, count)));
          else one.resolve();
        }
      } catch (cause) {
        const error = unavailable('Redis does not answer', cause as Error);
        for (const one of batch) one.reject(error);
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
      if (history === undefined) throw unavailable('Redis cannot be asked for its replicas');
      const answer = await write();
      // Asked at once: this is the connection that brought the answer.
      const written = await writer.server().catch((cause) => {
        throw unavailable('Redis does not answer', cause);
      });
      await confirmed({ runId: written.runId, replicationId: history });
      return answer;
    },
    close: () => own.disconnect(),
  };
}

const isSame = (one: RedisServer, other: RedisServer) =>
  one.runId === other.runId && one.replicationId === other.replicationId;

const missing = (confirmed: number, count: number) =>
  `${confirmed} of the ${count} replicas of Redis that must confirm it have done so in time`;

function noConnection(): never {
  throw new Error('Redis is not connected.');
}

function replyOf([error, value]: [Error | null, unknown]): unknown {
  if (error) throw error;
  return value;
}
