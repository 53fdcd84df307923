/**
 * Gateways among themselves: who lives, and what they say to one another. A signal reaches the gateways that listen at
 * that moment; one that was cut off is told that it may have missed some, and reads what matters again.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { AssignedTask } from './bus-records.ts';
import type { Feed } from './feed.ts';
import type { Keys } from './keys.ts';
import type { Log } from './log.ts';
import { reached } from './scripts.ts';

export type Signal =
  | { kind: 'resource_updated'; uri: string }
  /** With `keyId`, for the clients of that principal alone. */
  | { kind: 'list_changed'; list: 'tools' | 'resources' | 'prompts'; keyId?: string }
  | { kind: 'plugins_changed' }
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

export function createReplicas(deps: { redis: Redis; feed: Feed; keys: Keys; logger: Log }): Replicas {
  const { redis, feed, keys, logger } = deps;
  const id = randomUUID().replaceAll('-', '').slice(0, 12);
  const listeners = new Set<(signal: Signal | { kind: 'missed' }) => void>();
  const ended = new AbortController();
  const everyone = keys.one('gateways');
  const liveness = keys.of('gw', id);
  let beating: NodeJS.Timeout | undefined;

  const beat = () => reached(redis.set(liveness, '1', 'PX', replicaTtlMs));
  const hear = async (channel: string) => {
    const messages = await feed.listen(channel, ended.signal);
    const read = async () => {
      for await (const message of messages) {
        const signal = message === '' ? { kind: 'missed' as const } : (JSON.parse(message) as Signal);
        for (const listener of listeners) listener(signal);
      }
    };
    read().catch((error) => logger.error({ err: error }, 'replicas: signals lost'));
  };
  const say = async (channel: string, signal: Signal) => {
    await reached(redis.publish(channel, JSON.stringify(signal)));
  };

  const listen = async () => {
    await Promise.all([hear(everyone), hear(`${everyone}:${id}`)]);
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
    broadcast: (signal) => say(everyone, signal),
    send: (replica, signal) => say(`${everyone}:${replica}`, signal),
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
