import type { Redis } from 'ioredis';
import type { Log } from './log.ts';
import { reached } from './reached.ts';

/**
 * Pub/sub for one process: one connection for any number of listeners. A message either means "something new"
 * (empty text) or carries a live delta. What is published while the connection is down is lost; after a
 * reconnect every listener gets an empty message and must read the log.
 */
export interface Feed {
  /**
   * Messages of these channels from now on. The iterator ends when `signal` aborts or the listener is closed.
   * Throws `unavailable` when Redis does not answer.
   */
  listen(channels: readonly string[], signal: AbortSignal): Promise<Listener>;
  close(): Promise<void>;
}

/** The messages of one `listen`, in order. Empty text: something new, to be read from the log. */
export interface Listener extends AsyncIterable<string> {
  close(): void;
}

/** Unread messages kept for a slow reader; more are replaced by one "something new". */
const maxUnread = 1000;

/**
 * A subscribed connection only receives, so a dead one would stay unnoticed: it is pinged at this interval,
 * ms.
 */
const pingMs = 3_000;

/** `redis`: a connection used for nothing else, which the feed subscribes again itself; `close` disconnects it. */
export function createFeed(deps: { redis: Redis; logger: Log }): Feed {
  const { redis } = deps;
  // ioredis would subscribe again without a handler for a failure: a connection cut at that moment would end the
  // process by an unhandled rejection, or stay without its channels.
  redis.options.autoResubscribe = false;
  const ping = setInterval(() => {
    if (redis.status === 'ready') redis.ping().catch(() => undefined); // on failure socketTimeout drops the connection
  }, pingMs);
  ping.unref();
  const listeners = new Map<string, Set<(message: string) => void>>();
  redis.on('message', (channel: string, message: string) => {
    for (const push of listeners.get(channel) ?? []) push(message);
  });
  // What was published before the channels were subscribed again is lost: every listener is notified once they are,
  // so that nothing falls between the read that this triggers and the next message.
  redis.on('ready', () => {
    if (listeners.size === 0) return;
    const cutOff = [...listeners.values()].flatMap((pushes) => [...pushes]);
    redis.subscribe(...listeners.keys()).then(
      () => {
        for (const push of cutOff) push('');
      },
      (error) => {
        deps.logger.debug({ err: error }, 'feed: subscribing again failed');
        if (redis.status === 'ready') redis.disconnect(true); // otherwise it is being reopened already
      },
    );
  });

  const leave = (channel: string, push: (message: string) => void) => {
    const pushes = listeners.get(channel);
    if (!pushes?.delete(push) || pushes.size > 0) return;
    listeners.delete(channel);
    redis
      .unsubscribe(channel)
      .catch((error) => deps.logger.debug({ err: error }, 'feed: unsubscribing failed'));
  };

  return {
    async listen(channels, signal) {
      const inbox = createInbox();
      const close = () => {
        for (const channel of channels) leave(channel, inbox.push);
        inbox.end();
      };
      for (const channel of channels) {
        const pushes = listeners.get(channel) ?? new Set();
        listeners.set(channel, pushes.add(inbox.push));
      }
      signal.addEventListener('abort', close, { once: true });
      if (signal.aborted) close();
      else
        await reached(redis.subscribe(...channels)).catch((error) => {
          close();
          throw error;
        });
      return {
        [Symbol.asyncIterator]: inbox.read,
        close() {
          signal.removeEventListener('abort', close);
          close();
        },
      };
    },
    async close() {
      clearInterval(ping);
      redis.disconnect();
    },
  };
}

function createInbox() {
  const unread: string[] = [];
  let ended = false;
  let wake: (() => void) | undefined;
  return {
    push(text: string) {
      // A full inbox gets one empty message (something was missed); consecutive empty messages are merged.
      const message = unread.length >= maxUnread ? '' : text;
      if (message === '' && unread.at(-1) === '') return;
      unread.push(message);
      wake?.();
    },
    end() {
      ended = true;
      wake?.();
    },
    async *read(): AsyncGenerator<string> {
      while (!ended) {
        const message = unread.shift();
        if (message !== undefined) yield message;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}
