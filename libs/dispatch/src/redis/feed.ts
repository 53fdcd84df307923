import type { Redis } from 'ioredis';
import type { Log } from './log.ts';
import { reached } from './reached.ts';

/**
 * Pub/sub for one process: one connection, whatever the number of listeners. A message says only "something new"
 * (empty text) or carries a live delta; what was missed while the connection was away is read again from the log.
 */
export interface Feed {
  /** Messages of these channels from now on; the iterator ends when `signal` aborts or it is closed. */
  listen(channels: readonly string[], signal: AbortSignal): Promise<Listener>;
  close(): Promise<void>;
}

export interface Listener extends AsyncIterable<string> {
  close(): void;
}

/** Live deltas that a slow reader may leave unread; beyond, "something new" stands for them. */
const maxUnread = 1000;

/** A subscriber's connection only listens: without a question now and then, nobody would notice that it is dead. */
const pingMs = 3_000;

export function createFeed(deps: { redis: Redis; logger: Log }): Feed {
  const { redis } = deps;
  const ping = setInterval(() => {
    if (redis.status === 'ready') redis.ping().catch(() => undefined); // the socket's time limit drops the connection
  }, pingMs);
  ping.unref();
  const listeners = new Map<string, Set<(message: string) => void>>();
  redis.on('message', (channel: string, message: string) => {
    for (const push of listeners.get(channel) ?? []) push(message);
  });
  // Subscriptions come back by themselves after a reconnect; what was said meanwhile does not. The answer to a ping comes
  // after those to the subscriptions: what is said from then on is heard, so that nothing falls between.
  redis.on('ready', () => {
    const cutOff = [...listeners.values()].flatMap((pushes) => [...pushes]);
    const tellAll = () => {
      for (const push of cutOff) push('');
    };
    redis.ping().then(tellAll, () => undefined); // where it fails, the connection is opened again
  });

  const leave = (channel: string, push: (message: string) => void) => {
    const pushes = listeners.get(channel);
    if (!pushes?.delete(push) || pushes.size > 0) return;
    listeners.delete(channel);
    redis.unsubscribe(channel).catch((error) => deps.logger.debug({ err: error }, 'feed: not unsubscribed'));
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
    push(said: string) {
      // What does not fit leaves a mark that something was missed; equal "something new" messages in a row are one.
      const message = unread.length >= maxUnread ? '' : said;
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
