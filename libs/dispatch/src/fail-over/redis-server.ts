/**
 * Which Redis a connection talks to. The process has a `run_id` of its own; the history of its data has a replication id,
 * and gets a new one when a replica is promoted and when a process starts anew. What was written under one replication id
 * may be missing under the next.
 */
import type { Redis } from 'ioredis';

/** A Redis process and the history of its data: `run_id` and `master_replid` of INFO. */
export interface RedisServer {
  runId: string;
  replicationId: string;
}

/** The server behind one connection. */
export interface ServerWatch {
  /** Of the connection as it is now. Rejects while there is none. */
  server(): Promise<RedisServer>;
}

/** A question that failed is asked again after this, ms. */
const retryMs = 500;

/** Asks once for each connection; `onServer` hears every answer. */
export function watchServer(redis: Redis, onServer?: (server: RedisServer) => void): ServerWatch {
  let current: Promise<RedisServer> | undefined;
  const ask = () => {
    const asked = redis.info('server', 'replication').then(serverOf);
    current = asked;
    asked.then(onServer, () => {
      if (current === asked)
        setTimeout(() => current === asked && redis.status === 'ready' && ask(), retryMs).unref();
    });
  };
  redis.on('ready', ask);
  redis.on('close', () => {
    current = undefined;
  });
  if (redis.status === 'ready') ask();
  return {
    server: () => current ?? Promise.reject(new Error('Redis is not connected.')),
  };
}

/** One field of an answer to INFO. Throws when it is not there. */
export function infoField(info: string, name: string): string {
  const value = new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  if (value === undefined) throw new Error(`Redis says nothing of its ${name}.`);
  return value;
}

const serverOf = (info: string): RedisServer => ({
  runId: infoField(info, 'run_id'),
  replicationId: infoField(info, 'master_replid'),
});
