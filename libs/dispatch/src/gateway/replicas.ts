/**
 * Gateways among themselves: who lives, and what they say to one another. A signal reaches the gateways that listen at
 * that moment; one that was cut off reads what was kept of those it missed, in their order, and is told that it may have
 * missed more.
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

export type Signal =
  | { kind: 'resource_updated'; uri: string }
  /** With `keyId`, for the clients of that principal alone. */
  | { kind: 'list_changed'; list: 'tools' | 'resources' | 'prompts'; keyId?: string }
  | { kind: 'plugins_changed' }
  /** A plugin says something to the plugins of every gateway. */
  | { kind: 'broadcast'; event: string; data: unknown }
  /** A client gave up a call: `<sessionId>:<request id>`. */
  | { kind: 'cancel'; call: string }
  /** A client's answer to a request that another gateway made. */
  | { kind: 'reply'; message: unknown }
  | { kind: 'session_changed' | 'session_ended'; sessionId: string }
  /** A client opened its stream anew; the one it had is closed. */
  | { kind: 'stream_opened'; sessionId: string; stream: string }
  | { kind: 'task_cancelled'; taskId: string }
  /** The bus has work for a poll that is parked at this gateway; it was given to the worker already. */
  | { kind: 'bus_assigned'; poll: string; task: AssignedTask }
  /** Another poll of the same worker took its place, or the worker was reset. */
  | { kind: 'bus_poll_over'; poll: string };

export interface Replicas {
  /** This process among the gateways. */
  readonly id: string;
  /** From now on this process hears signals, until `close`. */
  listen(): Promise<void>;
  /** The same, and others may count on it: a gateway. */
  join(): Promise<void>;
  broadcast(signal: Signal): Promise<void>;
  /** To one gateway. */
  send(replica: string, signal: Signal): Promise<void>;
  isAlive(replica: string): Promise<boolean>;
  /** 'missed' = signals may have been lost. Returns how to stop. */
  onSignal(listener: (signal: Signal | { kind: 'missed' }) => void): () => void;
  close(): Promise<void>;
}

/** A gateway that is silent for so long is dead to the others. */
export const replicaTtlMs = 10_000;
const beatMs = 3_000;

export function createReplicas(deps: {
  redis: Redis;
  feed: Feed;
  keys: Keys;
  scripts: Scripts;
  logger: Log;
}): Replicas {
  const { redis, feed, keys, scripts, logger } = deps;
  const id = randomUUID().replaceAll('-', '').slice(0, 12);
  const listeners = new Set<(signal: Signal | { kind: 'missed' }) => void>();
  const ended = new AbortController();
  const liveness = keys.of('gw', id);
  let beating: NodeJS.Timeout | undefined;

  const beat = () => reached(redis.set(liveness, '1', 'PX', replicaTtlMs));
  const tell = (signal: Signal | { kind: 'missed' }) => {
    for (const listener of listeners) {
      try {
        listener(signal);
      } catch (error) {
        logger.error({ err: error, signal: signal.kind }, 'replicas: signal not followed');
      }
    }
  };
  /** `to` is '' or `:<replica>`. */
  const hear = async (to: string) => {
    const messages = await feed.listen([`${keys.one('gateways')}${to}`], ended.signal);
    const kept = `${keys.one('signals')}${to}`;
    let [[heard] = ['0-0']] = await reached(redis.xrevrange(kept, '+', '-', 'COUNT', 1));
    const tellKept = async () => {
      const read = () => reached(redis.xrange(kept, `(${heard}`, '+'));
      for (const [id, [, text = '']] of await untilReached(read, () => ended.signal.aborted)) {
        heard = id;
        tell(JSON.parse(text) as Signal);
      }
    };
    const follow = async () => {
      for await (const message of messages) {
        if (message === '') {
          await tellKept();
          tell({ kind: 'missed' });
          continue;
        }
        const { id, ...signal } = JSON.parse(message) as Signal & { id?: string };
        if (id !== undefined && !isLater(id, heard)) continue; // read already
        heard = id ?? heard;
        tell(signal as Signal);
      }
    };
    follow().catch((error) => {
      if (!ended.signal.aborted) logger.error({ err: error }, 'replicas: signals lost');
    });
  };
  const say = async (signal: Signal, replica?: string) => {
    await scripts.call(lua.signal, { replica, text: jsonOf(signal) });
  };

  const listen = async () => {
    await Promise.all([hear(''), hear(`:${id}`)]);
  };

  return {
    id,
    listen,
    async join() {
      await Promise.all([beat(), listen()]);
      beating = setInterval(() => {
        beat().catch((error) => logger.debug({ err: error }, 'replicas: no heartbeat'));
      }, beatMs);
      beating.unref();
    },
    broadcast: (signal) => say(signal),
    send: (replica, signal) => say(signal, replica),
    isAlive: async (replica) => (await reached(redis.exists(keys.of('gw', replica)))) === 1,
    onSignal(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      ended.abort();
      if (!beating) return;
      clearInterval(beating);
      await redis.del(liveness).catch(() => undefined); // it expires anyway
    },
  };
}

/** Of two stream ids, `<ms>-<n>`. */
function isLater(one: string, other: string): boolean {
  const [oneMs = 0, oneN = 0] = one.split('-').map(Number);
  const [otherMs = 0, otherN = 0] = other.split('-').map(Number);
  return oneMs > otherMs || (oneMs === otherMs && oneN > otherN);
}
