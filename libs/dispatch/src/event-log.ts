import { AppError, type EventType, type ThreadEvent } from '@harness/contracts';
import type { Redis } from 'ioredis';
import type { Feed } from './feed.ts';
import type { Keys } from './keys.ts';
import { reached } from './scripts.ts';

/** Which events: one thread's, or (`children`) those of a root thread and all below it. */
export interface EventScope {
  threadId: string;
  children?: boolean | undefined;
}

export interface EventLog {
  /**
   * Stored events after a cursor (an event id; undefined = from the oldest kept), at most `limit`.
   * Throws `events_trimmed` for a cursor older than what is kept.
   */
  read(scope: EventScope, after: string | undefined, limit: number): Promise<ThreadEvent[]>;
  /**
   * D7: everything after the cursor, then `stream.replayed` once, then what happens, without gap or repeat.
   * Ends when `signal` aborts. `from` names the first event itself instead of the one before it.
   */
  follow(
    scope: EventScope,
    start: { after?: string | undefined; from?: string },
    signal: AbortSignal,
  ): AsyncGenerator<ThreadEvent>;
}

const pageSize = 200;
const cursorPattern = /^\d{1,15}(-\d{1,10})?$/;

export function createEventLog(deps: { redis: Redis; keys: Keys; feed: Feed }): EventLog {
  const { redis, keys, feed } = deps;
  const streamOf = (scope: EventScope) => keys.of(scope.children ? 'tree' : 'ev', scope.threadId);

  const page = async (scope: EventScope, start: string, limit: number): Promise<ThreadEvent[]> => {
    const entries = await reached(redis.xrange(streamOf(scope), start, '+', 'COUNT', limit));
    return entries.map(([id, fields]) => eventOf(id, fields));
  };
  const check = async (scope: EventScope, after: string | undefined) => {
    if (after === undefined || /^0(-0)?$/.test(after)) return;
    if (!cursorPattern.test(after)) throw new AppError('invalid_request', `"${after}" is not an event id.`);
    const [oldest] = await reached(redis.xrange(streamOf(scope), '-', '+', 'COUNT', 1));
    if (!oldest || !isBefore(after, oldest[0])) return;
    const info = await reached(redis.xinfo('STREAM', streamOf(scope)));
    if (numberIn(info, 'entries-added') > numberIn(info, 'length')) {
      const message = 'Events after this one are no longer kept; start again without a cursor.';
      throw new AppError('events_trimmed', message, { details: { oldest: oldest[0] } });
    }
  };
  const startOf = (after: string | undefined) => (after === undefined ? '-' : `(${after}`);

  return {
    async read(scope, after, limit) {
      await check(scope, after);
      return page(scope, startOf(after), limit);
    },
    async *follow(scope, { after, from }, signal) {
      await check(scope, after);
      // Listening starts before reading, so that nothing falls between the two.
      const listener = await feed.listen(keys.of(scope.children ? 'chtree' : 'ch', scope.threadId), signal);
      let start = from ?? startOf(after);
      const drain = async function* () {
        while (!signal.aborted) {
          const events = await page(scope, start, pageSize);
          for (const event of events) {
            yield event;
            start = `(${event.id}`;
          }
          if (events.length < pageSize) return;
        }
      };
      try {
        yield* drain();
        const at = new Date().toISOString();
        yield { id: null, type: 'stream.replayed', data: { threadId: scope.threadId, at } };
        for await (const message of listener) {
          if (message === '') yield* drain();
          else yield liveEventOf(message);
        }
      } finally {
        listener.close();
      }
    },
  };
}

function eventOf(id: string, fields: string[]): ThreadEvent {
  const value = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
  const at = new Date(Number(value('at'))).toISOString();
  const data = JSON.parse(value('data')) as object;
  return { id, type: value('type') as EventType, data: { threadId: value('threadId'), at, ...data } };
}

function liveEventOf(message: string): ThreadEvent {
  const { type, at, threadId, data } = JSON.parse(message) as Record<string, string>;
  const stamped = {
    threadId: threadId ?? '',
    at: new Date(Number(at)).toISOString(),
    ...JSON.parse(data ?? '{}'),
  };
  return { id: null, type: type as EventType, data: stamped };
}

const partsOf = (id: string) => id.split('-').map(Number) as [number, number?];

function isBefore(a: string, b: string): boolean {
  const [aMs, aN = 0] = partsOf(a);
  const [bMs, bN = 0] = partsOf(b);
  return aMs < bMs || (aMs === bMs && aN < bN);
}

function numberIn(info: unknown, name: string): number {
  const flat = info as unknown[];
  return Number(flat[flat.indexOf(name) + 1]);
}
