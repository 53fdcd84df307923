/**
 * Which gateways are alive, and the signals among them. A signal reaches the gateways that are subscribed at
 * that moment. A gateway that was disconnected reads the kept signals in order when it reconnects, and is
 * notified that it may have missed others.
 *
 * This folder, what gateways share so that any of them can serve any client:
 *   notify-gateways.lua, signal.lua  publish a signal
 *   tool-authority.ts  the authority of a session at a tool call
 *   authority.lua, narrow.lua, ledger.lua  its scripts
 *   profiles.ts, publish-profiles.lua      agents and skills, published for workers
 *   plugin-states.ts   which plugins are disabled
 *   listed-tools.ts    how many tools sessions list
 *   plugin-store.ts    key-value stores of plugins
 */

import { randomUUID } from 'node:crypto';
import { jsonOf } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { AssignedTask } from '../bus/bus-records.ts';
import type { Feed } from '../redis/feed.ts';
import type { Keys } from '../redis/keys.ts';
import type { Log } from '../redis/log.ts';
import { reached } from '../redis/reached.ts';
import { type Scripts, scriptsBeside } from '../redis/scripts.ts';
import { untilReached } from '../redis/until-reached.ts';

const lua = scriptsBeside(import.meta.url, { unconfirmed: ['signal'] });

/** A message to one gateway or to all. */
export type Signal =
  | { kind: 'resource_updated'; uri: string }
  /** With `keyId`: only for the clients of that principal. */
  | { kind: 'list_changed'; list: 'tools' | 'resources' | 'prompts'; keyId?: string }
  | { kind: 'plugins_changed' }
  /** Every gateway connects to this upstream anew. */
  | { kind: 'upstream_reconnect'; upstream: string }
  /** What an upstream offers has changed at its owner; its owner has given it up. */
  | { kind: 'upstream_described' | 'upstream_released'; upstream: string }
  /** A thread was deleted: what upstreams hold for it can go. */
  | { kind: 'thread_deleted'; tenant: string; threadId: string }
  /** API keys of the tenant were made or deleted. */
  | { kind: 'keys_changed'; tenant: string }
  /** An event from a plugin to the plugins of every gateway. */
  | { kind: 'broadcast'; event: string; data: unknown }
  /** A client cancelled a call: `<sessionId>:<request id>`. */
  | { kind: 'cancel'; call: string }
  /** A client's response to a request that another gateway made. */
  | { kind: 'reply'; message: unknown }
  | { kind: 'session_changed' | 'session_ended'; sessionId: string }
  /** A client opened its stream anew; close the previous one. */
  | { kind: 'stream_opened'; sessionId: string; stream: string }
  | { kind: 'task_cancelled'; taskId: string }
  /** The bus has assigned a task to the worker of a poll that waits at this gateway. */
  | { kind: 'bus_assigned'; poll: string; task: AssignedTask }
  /** Another poll of the same worker has replaced this one, or the worker was reset. */
  | { kind: 'bus_poll_over'; poll: string };

/** This process among the gateways. */
export interface Replicas {
  /** Id of this process among the gateways, random per start. */
  readonly id: string;
  /** Receives signals from now on, until `close`. For workers. */
  listen(): Promise<void>;
  /** The same, and announces this process as a live gateway. */
  join(): Promise<void>;
  /** Sends a signal to every gateway. Throws `unavailable`. */
  broadcast(signal: Signal): Promise<void>;
  /** Sends a signal to one gateway. Throws `unavailable`. */
  send(replica: string, signal: Signal): Promise<void>;
  /** Whether a gateway is alive. Throws `unavailable`. */
  isAlive(replica: string): Promise<boolean>;
  /** Whether this gateway has the lowest id of the live ones: that one reports what is the same for all. Throws `unavailable`. */
  isFirst(): Promise<boolean>;
  /** Whether no other gateway is alive. Throws `unavailable`. */
  isAlone(): Promise<boolean>;
  /** Adds a listener; `missed`: signals may have been lost. The returned function removes it. */
  onSignal(listener: (signal: Signal | { kind: 'missed' }) => void): () => void;
  close(): Promise<void>;
}

/** A gateway without a heartbeat for this long counts as dead, ms. */
export const replicaTtlMs = 10_000;
const beatMs = 3_000;

interface ReplicasDeps {
  redis: Redis;
  feed: Feed;
  keys: Keys;
  scripts: Scripts;
  logger: Log;
}

/** Nothing is received or announced before `listen` or `join`. */
export function createReplicas(deps: ReplicasDeps): Replicas {
  const { redis, keys, scripts, logger } = deps;
  const id = randomUUID().replaceAll('-', '').slice(0, 12);
  const listeners = new Set<(signal: Signal | { kind: 'missed' }) => void>();
  const ended = new AbortController();
  const liveness = keys.of('gw', id);
  let beating: NodeJS.Timeout | undefined;

  const alive = keys.one('gws');
  const beat = async () => {
    const beating = redis.multi().set(liveness, '1', 'PX', replicaTtlMs).zadd(alive, Date.now(), id);
    await reached(beating.zremrangebyscore(alive, '-inf', Date.now() - replicaTtlMs).exec());
  };
  const notify = (signal: Signal | { kind: 'missed' }) => {
    for (const listener of listeners) {
      try {
        listener(signal);
      } catch (error) {
        logger.error({ err: error, signal: signal.kind }, 'replicas: handling a signal failed');
      }
    }
  };
  const send = async (signal: Signal, replica?: string) => {
    await scripts.call(lua.signal, { replica, text: jsonOf(signal) });
  };

  const follow = createFollowing(deps, { signal: ended.signal, notify });
  const listen = async () => {
    await Promise.all([follow(''), follow(`:${id}`)]);
  };

  const isNoneAlive = async (which: (other: string) => boolean) => {
    const others = (await reached(redis.zrange(alive, '0', '-1'))).filter(which);
    const found = await reached(Promise.all(others.map((other) => redis.exists(keys.of('gw', other)))));
    return !found.includes(1);
  };

  return {
    id,
    listen,
    async join() {
      await Promise.all([beat(), listen()]);
      beating = setInterval(() => {
        beat().catch((error) => logger.debug({ err: error }, 'replicas: heartbeat failed'));
      }, beatMs);
      beating.unref();
    },
    broadcast: (signal) => send(signal),
    send: (replica, signal) => send(signal, replica),
    isAlone: () => isNoneAlive((other) => other !== id),
    isFirst: () => isNoneAlive((other) => other < id),
    isAlive: async (replica) => (await reached(redis.exists(keys.of('gw', replica)))) === 1,
    onSignal(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      ended.abort();
      if (!beating) return;
      clearInterval(beating);
      await redis.del(liveness).catch(() => undefined); // the key expires anyway
    },
  };
}

/** Creates the function that follows the signals to all gateways (`to` = '') or to one (`:<replica>`). */
function createFollowing(
  { redis, feed, keys, logger }: ReplicasDeps,
  { signal, notify }: { signal: AbortSignal; notify(signal: Signal | { kind: 'missed' }): void },
) {
  return async (to: string): Promise<void> => {
    const messages = await feed.listen([`${keys.one('gateways')}${to}`], signal);
    const kept = `${keys.one('signals')}${to}`;
    let [[latest] = ['0-0']] = await reached(redis.xrevrange(kept, '+', '-', 'COUNT', 1));
    const readKept = async () => {
      const read = () => reached(redis.xrange(kept, `(${latest}`, '+'));
      for (const [id, [, text = '']] of await untilReached(read, () => signal.aborted)) {
        latest = id;
        notify(JSON.parse(text) as Signal);
      }
    };
    const pass = async () => {
      for await (const message of messages) {
        if (message === '') {
          await readKept();
          notify({ kind: 'missed' });
          continue;
        }
        const { id, ...received } = JSON.parse(message) as Signal & { id?: string };
        if (id !== undefined && !isLater(id, latest)) continue; // already read from the kept ones
        latest = id ?? latest;
        notify(received as Signal);
      }
    };
    pass().catch((error) => {
      if (!signal.aborted)
        logger.error({ err: error }, 'replicas: no more signals are received; restart this process');
    });
  };
}

/** Compares two stream ids, `<ms>-<n>`. */
function isLater(one: string, other: string): boolean {
  const [oneMs = 0, oneN = 0] = one.split('-').map(Number);
  const [otherMs = 0, otherN = 0] = other.split('-').map(Number);
  return oneMs > otherMs || (oneMs === otherMs && oneN > otherN);
}
