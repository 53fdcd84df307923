/**
 * Which Redis a connection talks to. A process has its own `run_id`; the history of its data has a
 * replication id, which changes when a replica is promoted and when a process restarts. Writes made under one
 * replication id may be missing under the next.
 */
import type { Redis } from 'ioredis';

/** A Redis process and the history of its data: `run_id` and `master_replid` of INFO. */
export interface RedisServer {
  runId: string;
  replicationId: string;
}

/** The server behind one connection. */
export interface ServerWatch {
  /** The server of the current connection. Rejects while there is no connection. */
  server(): Promise<RedisServer>;
}

/** Pause before a failed INFO is repeated, ms. */
const retryMs = 500;

/** Reads the server once per connection; `onServer` is called with each result. */
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

/** One field of a reply to INFO. Throws when it is missing. */
export function infoField(info: string, name: string): string {
  const value = new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  if (value === undefined) throw new Error(`The INFO of Redis has no field ${name}.`);
  return value;
}

const serverOf = (info: string): RedisServer => ({
  runId: infoField(info, 'run_id'),
  replicationId: infoField(info, 'master_replid'),
});
